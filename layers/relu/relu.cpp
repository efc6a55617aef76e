#include "layers/relu/relu.h"

#include "core/formats/caffe.pb.h"
#include "core/machine/launch_elementwise.h"
#include "layers/relu/programs.h"

namespace cortado {

float ReluLayer::slope() const { return parameter().relu_param().negative_slope(); }

Traits ReluLayer::traits() {
  Traits traits;
  traits.rectifier = slope();
  return traits;
}

void ReluLayer::reshape(const Blobs& bottom, const Blobs& top) { top[0]->reshape_like(*bottom[0]); }

void ReluLayer::forward(const Blobs& bottom, const Blobs& top) {
  with_element(bottom[0]->precision(), [&](auto element) {
    using T = decltype(element);
    elementwise(group(), bottom[0]->count(), Rectify{slope()}, from(bottom[0]->data<T>()),
                to(top[0]->mutable_data<T>()));
  });
}

void ReluLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  if (!propagate_down[0]) return;
  // In place only the result is left, and its sign is the input's unless the slope is negative.
  const bool from_input = bottom[0] != top[0];
  if (!from_input && slope() < 0)
    bad_config("a negative negative_slope cannot run in place", "give the top a name of its own");
  with_element(bottom[0]->precision(), [&](auto element) {
    using T = decltype(element);
    const Blob& values = from_input ? *bottom[0] : *top[0];
    elementwise(group(), values.count(), RectifiedGradient{slope()}, from(values.data<T>(), top[0]->diff<T>()),
                to(bottom[0]->mutable_diff<T>()));
  });
}

Layer::Cost ReluLayer::cost(const Blobs& bottom, const Blobs&) const {
  const auto n = static_cast<double>(bottom[0]->count());
  return {n, n, 8 * n, 12 * n};
}

}  // namespace cortado
