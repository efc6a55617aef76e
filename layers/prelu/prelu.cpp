#include "core/formats/caffe.pb.h"
#include "core/machine/launch_elementwise.h"
#include "core/net/layer_table.h"
#include "layers/channels/channels.h"
#include "layers/prelu/programs.h"

namespace cortado {
namespace {

/// Caffe's PReLU: y = x for x > 0, a learned slope times x elsewhere. There is one slope per channel (axis 1), or one
/// for all with channel_shared. It may run in place.
class PReluLayer : public Layer {
 public:
  using Layer::Layer;
  bool can_run_in_place() const override { return true; }
  void setup(const Blobs& bottom, const Blobs&) override {
    if (bottom[0]->axes() < 2) bad_shape("expects N x C x ..., the bottom has shape " + to_string(bottom[0]->shape()));
    const auto& p = parameter().prelu_param();
    caffe::FillerParameter quarter;
    quarter.set_value(0.25f);
    add_parameter(p.channel_shared() ? Shape{} : Shape{bottom[0]->dim(1)}, p.has_filler() ? p.filler() : quarter);
    input_ = std::make_unique<Blob>(group());
  }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    const Blob& slope = *blobs()[0];
    if (slope.axes() == 0)
      shape_ = {1, 1, bottom[0]->count()};
    else if (bottom[0]->axes() < 2 || bottom[0]->dim(1) != slope.count())
      bad_shape("expects " + std::to_string(slope.count()) + " channels, the bottom has shape " +
                to_string(bottom[0]->shape()));
    else
      shape_ = {bottom[0]->dim(0), slope.count(), bottom[0]->count(2)};
    if (bottom[0] == top[0]) input_->reshape_like(*bottom[0]);
    top[0]->reshape_like(*bottom[0]);
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    const float* const x = bottom[0]->data();
    if (bottom[0] == top[0]) group().copy(input_->mutable_data(), x, static_cast<std::size_t>(bottom[0]->bytes()));
    elementwise(group(), shape_.outer * shape_.channels, shape_.inner, PReluForward{},
                from(x, per_row(blobs()[0]->data(), shape_.channels)), to(top[0]->mutable_data()));
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    const float *const x = bottom[0] == top[0] ? input_->data() : bottom[0]->data(), *const dy = top[0]->diff();
    if (param_propagate_down(0))
      shape_.with_lines(group().spec(), 6, [&](auto lines) {
        sum_channels<PReluSlopes>(group(), lines, room(), blobs()[0]->mutable_diff(), x, dy);
      });
    if (propagate_down[0])
      elementwise(group(), shape_.outer * shape_.channels, shape_.inner, PReluBackward{},
                  from(x, dy, per_row(blobs()[0]->data(), shape_.channels)), to(bottom[0]->mutable_diff()));
  }

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    const auto n = static_cast<double>(bottom[0]->count());
    return {2 * n, 4 * n, 8 * n, 20 * n};
  }

 private:
  Channels shape_;
  std::unique_ptr<Blob> input_;  // of a run in place
};

}  // namespace

void add_prelu(LayerTable& table) { table.add<PReluLayer>("PReLU"); }

}  // namespace cortado
