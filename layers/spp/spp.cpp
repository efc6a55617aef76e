#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/machine/integers.h"
#include "core/machine/launch_elementwise.h"
#include "core/net/layer_table.h"
#include "layers/concat/copy_rows.h"
#include "layers/pooling/pooling.h"
#include "layers/split/programs.h"

namespace cortado {
namespace {
/// The window that pools `extent` values to `bins`, as Caffe computes it: as small as can be, the rest is padding.
struct Bins {
  i64 kernel, pad;
  Bins(i64 extent, i64 bins) : kernel(ceil_div(extent, bins)), pad((kernel * bins - extent + 1) / 2) {}
};

/// Caffe's SPP (He et al., spatial pyramid pooling). For each level l below pyramid_height the N x C x H x W bottom is
/// pooled to 2^l x 2^l. All results stand one after another (N x values), so the top's size does not depend on H and W.
/// The top of a single level is Pooling's, N x C x 1 x 1.
class SppLayer : public Layer {
 public:
  using Layer::Layer;
  void setup(const Blobs&, const Blobs&) override {
    const auto height = parameter().spp_param().pyramid_height();
    if (height < 1 || height > 16) bad_config("pyramid_height must be 1 to 16, it is " + std::to_string(height));
    part_ = std::make_unique<Blob>(group());
  }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    if (bottom[0]->axes() != 4)
      bad_shape("expects N x C x H x W, the bottom has shape " + to_string(bottom[0]->shape()));
    const bool fresh = levels_made_for_ != bottom[0]->shape();
    if (fresh) make_levels(*bottom[0]);
    i64 width = 0;
    for (auto& level : levels_) {
      if (fresh) level.pooling->setup(bottom, {level.pooled.get()});
      level.pooling->reshape(bottom, {level.pooled.get()});
      width += level.pooled->count(1);
    }
    part_->reshape(bottom[0]->shape());
    top[0]->reshape(levels_.size() == 1 ? levels_[0].pooled->shape() : Shape{bottom[0]->dim(0), width});
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    float* to = top[0]->mutable_data();
    for (auto& level : levels_) {
      level.pooling->forward(bottom, {level.pooled.get()});
      const i64 width = level.pooled->count(1);
      copy_rows<float>(group(), level.pooled->data(), width, to, top[0]->count(1), top[0]->dim(0), width);
      to += width;
    }
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (!propagate_down[0]) return;
    const float* from = top[0]->diff();
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      Blob& pooled = *levels_[l].pooled;
      const i64 width = pooled.count(1);
      copy_rows<float>(group(), from, top[0]->count(1), pooled.mutable_diff(), width, top[0]->dim(0), width);
      from += width;
      // Pooling writes its bottom's gradient, so levels behind the first write elsewhere.
      part_->share_data(*bottom[0]);
      Blob& into = l == 0 ? *bottom[0] : *part_;
      levels_[l].pooling->backward({&pooled}, {true}, {&into});
      float* const sum = bottom[0]->mutable_diff();
      if (l > 0) elementwise(group(), bottom[0]->count(), AddUp{}, cortado::from(sum, part_->diff()), to(sum));
    }
  }

  Cost cost(const Blobs& bottom, const Blobs& top) const override {
    const double levels = static_cast<double>(levels_.size()), n = static_cast<double>(bottom[0]->count()),
                 m = static_cast<double>(top[0]->count());
    return {levels * n, levels * n, 4 * (levels * n + 2 * m), 4 * (3 * levels * n + 2 * m)};
  }

 private:
  struct Level {
    std::unique_ptr<PoolingLayer> pooling;
    std::unique_ptr<Blob> pooled;
  };
  void make_levels(const Blob& bottom) {
    const auto& p = parameter().spp_param();
    levels_.clear();
    for (unsigned l = 0; l < p.pyramid_height(); ++l) {
      const Bins h(bottom.dim(2), i64{1} << l), w(bottom.dim(3), i64{1} << l);
      caffe::LayerParameter level;
      level.set_name(name());
      level.set_type("Pooling");
      level.add_top(name());
      auto& pool = *level.mutable_pooling_param();
      pool.set_pool(static_cast<caffe::PoolingParameter::PoolMethod>(p.pool()));
      pool.set_kernel_h(static_cast<unsigned>(h.kernel));
      pool.set_kernel_w(static_cast<unsigned>(w.kernel));
      pool.set_stride_h(static_cast<unsigned>(h.kernel));
      pool.set_stride_w(static_cast<unsigned>(w.kernel));
      pool.set_pad_h(static_cast<unsigned>(h.pad));
      pool.set_pad_w(static_cast<unsigned>(w.pad));
      levels_.push_back({std::make_unique<PoolingLayer>(level, context()), std::make_unique<Blob>(group())});
    }
    levels_made_for_ = bottom.shape();
  }

  Shape levels_made_for_;
  std::vector<Level> levels_;
  std::unique_ptr<Blob> part_;  // the bottom's gradient from one level
};

}  // namespace

void add_spp(LayerTable& table) { table.add<SppLayer>("SPP"); }

}  // namespace cortado
