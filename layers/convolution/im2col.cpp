#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/convolution/columns/columns.h"
#include "layers/convolution/volume.h"
#include "layers/convolution/window.h"

namespace cortado {
namespace {

/// Caffe's Im2col: the values under a convolution's window, as N x (C KH KW) x OH x OW, over any number of spatial
/// axes.
class Im2colLayer : public Layer {
 public:
  using Layer::Layer;
  void reshape(const Blobs& bottom, const Blobs& top) override {
    const Blob& x = *bottom[0];
    const auto& p = parameter().convolution_param();
    const int axis = x.canonical_axis(p.axis());
    const SlidingWindow window = read_window(*this, p, x.axes() - axis - 1);
    const std::vector<i64> in = spatial_sizes(x, window.axes()), out = window_outputs(*this, window, x);
    const i64 samples = x.count(0, axis), columns = x.dim(axis) * count_of(window.kernel);
    Shape shape(x.shape().begin(), x.shape().begin() + axis);
    shape.push_back(columns);
    shape.insert(shape.end(), out.begin(), out.end());
    top[0]->reshape(shape);
    ConvolutionShape s;
    s.mb = samples, s.ic = x.dim(axis);
    set_planes(s, window, in, out);
    if (window.axes() > 2) {
      if (!volume_) volume_ = std::make_unique<Volume>(group());
      if (!stacked_) stacked_ = std::make_unique<Blob>(group());
      if (!columns_) columns_ = std::make_unique<Blob>(group());
      volume_->reshape(samples, s.ic, columns, in, out, window);
      s.mb = volume_->images(), s.ic *= volume_->channels_per_channel();
      stacked_->reshape({s.mb, s.ic, s.ih, s.iw});
      columns_->reshape({s.mb, columns, s.oh, s.ow});
    }
    std::string refused;
    to_columns_ = plan_im2col(group().spec(), s, s.mb, false, refused);
    from_columns_ = plan_col2im(group().spec(), s, s.mb, false, refused);
    if (!refused.empty()) throw PlanError("layer '" + name() + "'", refused);
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    if (volume_) volume_->stack(bottom[0]->data(), stacked_->mutable_data());
    launch(group(), to_columns_, [&](auto& p) {
      p.x = (volume_ ? *stacked_ : *bottom[0]).data(), p.columns = (volume_ ? *columns_ : *top[0]).mutable_data();
    });
    if (volume_) volume_->order(columns_->data(), top[0]->mutable_data());
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (!propagate_down[0]) return;
    if (volume_) volume_->unorder(top[0]->diff(), columns_->mutable_diff());
    launch(group(), from_columns_, [&](auto& p) {
      p.columns = (volume_ ? *columns_ : *top[0]).diff(), p.x = (volume_ ? *stacked_ : *bottom[0]).mutable_diff();
    });
    if (volume_) volume_->unstack(stacked_->diff(), bottom[0]->mutable_diff(), bottom[0]->count());
  }

  Cost cost(const Blobs& bottom, const Blobs& top) const override {
    const auto bytes = 4 * static_cast<double>(bottom[0]->count() + top[0]->count());
    return {0, static_cast<double>(top[0]->count()), bytes, bytes};
  }

 private:
  Planned<Im2col> to_columns_;
  Planned<Col2im> from_columns_;
  std::unique_ptr<Volume> volume_;           // where there are more than two spatial axes
  std::unique_ptr<Blob> stacked_, columns_;  // planes in, columns out, and their gradients, image by image
};

}  // namespace

void add_im2col(LayerTable& table) { table.add<Im2colLayer>("Im2col"); }

}  // namespace cortado
