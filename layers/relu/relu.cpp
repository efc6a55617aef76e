#include "core/formats/caffe.pb.h"
#include "core/machine/launch_elementwise.h"
#include "core/net/layer_table.h"
#include "layers/relu/programs.h"

namespace cortado {
namespace {

/// Caffe's ReLU: y = x for x > 0, negative_slope x elsewhere. It may run in place.
class ReluLayer : public Layer {
 public:
  using Layer::Layer;
  static bool keeps_bf16(const caffe::LayerParameter& /*parameter*/) { return true; }
  bool can_run_in_place() const override { return true; }
  bool keeps_blocks(const Blobs& /*bottom*/) const override { return true; }
  void reshape(const Blobs& bottom, const Blobs& top) override { top[0]->reshape_like(*bottom[0]); }

  void forward(const Blobs& bottom, const Blobs& top) override {
    with_element(bottom[0]->precision(), [&](auto element) {
      using T = decltype(element);
      elementwise(group(), bottom[0]->count(), Rectified{rectify()}, from(bottom[0]->data<T>()),
                  to(top[0]->mutable_data<T>()));
    });
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (!propagate_down[0]) return;
    // In place only the result is left, and its sign is the input's unless the slope is negative.
    const bool from_input = bottom[0] != top[0];
    if (!from_input && slope() < 0)
      bad_config("a negative negative_slope cannot run in place", "give the top a name of its own");
    with_element(bottom[0]->precision(), [&](auto element) {
      using T = decltype(element);
      const Blob& values = from_input ? *bottom[0] : *top[0];
      elementwise(group(), values.count(), RectifiedGradient{{slope()}}, from(values.data<T>(), top[0]->diff<T>()),
                  to(bottom[0]->mutable_diff<T>()));
    });
  }

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    const auto n = static_cast<double>(bottom[0]->count());
    return {n, n, 8 * n, 12 * n};
  }

  Traits traits() override {
    Traits traits;
    traits.rectifier = rectify();
    return traits;
  }

 private:
  /// The factor of values below zero.
  float slope() const { return parameter().relu_param().negative_slope(); }
  Rectify rectify() const { return {slope()}; }
};

}  // namespace

void add_relu(LayerTable& table) { table.add<ReluLayer>("ReLU"); }

}  // namespace cortado
