#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/channels/factor_layer.h"

namespace cortado {
namespace {

/// Caffe's Bias: y = x plus a bias whose shape is num_axes of the bottom's axes from `axis` on, repeated over the
/// others. The bias is learned, or is the second bottom. It may run in place.
class BiasLayer : public FactorLayer {
 public:
  using FactorLayer::FactorLayer;
  void setup(const Blobs& bottom, const Blobs&) override {
    const auto& p = parameter().bias_param();
    if (bottom.size() == 1) add_parameter(learned_shape(*bottom[0], p.axis(), p.num_axes()), p.filler());
  }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    const Blob& bias = bottom.size() > 1 ? *bottom[1] : *blobs()[0];
    shape_ = place(bias, *bottom[0], parameter().bias_param().axis());
    top[0]->reshape_like(*bottom[0]);
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    const Blob& bias = bottom.size() > 1 ? *bottom[1] : *blobs()[0];
    shape_.affine<float>(group(), bottom[0]->data(), nullptr, nullptr, bias.data(), top[0]->mutable_data());
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    const bool given = bottom.size() > 1;
    const float* const dy = top[0]->diff();
    if (given ? propagate_down[1] : param_propagate_down(0)) {
      Blob& bias = given ? *bottom[1] : *blobs()[0];
      if (given) bias.zero_diff();  // parameters' gradients are added, bottoms' are written
      shape_.sum(group(), room(), dy, bias.mutable_diff());
    }
    if (propagate_down[0] && bottom[0] != top[0])
      group().copy(bottom[0]->mutable_diff(), dy, static_cast<std::size_t>(bottom[0]->bytes()));
  }

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    const auto n = static_cast<double>(bottom[0]->count());
    return {n, n, 8 * n, 12 * n};
  }

 protected:
  int axis() const override { return parameter().bias_param().axis(); }
  bool learns_per_channel() const override { return axis() == 1 && parameter().bias_param().num_axes() == 1; }

 private:
  Channels shape_;
};

}  // namespace

void add_bias(LayerTable& table) { table.add<BiasLayer>("Bias"); }

}  // namespace cortado
