#include "layers/relu/relu.h"

#include "core/formats/caffe.pb.h"
#include "core/machine/integers.h"
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
  const i64 n = bottom[0]->count(), block = line_elements(group().spec(), n, 3);
  PlanBuilder book(group().spec());
  const Buf x = book.line("x", block * 4, Depth::two), y = book.line("y", block * 4, 1);
  with_element(bottom[0]->precision(), [&](auto element) {
    using T = decltype(element);
    group().launch(ReluForward<T>{bottom[0]->data<T>(), top[0]->mutable_data<T>(), slope(), n, block, x, y},
                   book.plan(ceil_div(n, block)));
  });
}

void ReluLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  if (!propagate_down[0]) return;
  // In place only the result is left, and its sign is the input's unless the slope is negative.
  const bool from_input = bottom[0] != top[0];
  if (!from_input && slope() < 0)
    bad_config("a negative negative_slope cannot run in place", "give the top a name of its own");
  const i64 n = bottom[0]->count(), block = line_elements(group().spec(), n, 5);
  PlanBuilder book(group().spec());
  const Buf y = book.line("y", block * 4, Depth::two), dy = book.line("dy", block * 4, Depth::two);
  const Buf dx = book.line("dx", block * 4, 1);
  with_element(bottom[0]->precision(), [&](auto element) {
    using T = decltype(element);
    const Blob& values = from_input ? *bottom[0] : *top[0];
    group().launch(ReluBackward<T>{values.data<T>(), top[0]->diff<T>(), bottom[0]->mutable_diff<T>(), slope(), n, block,
                                   y, dy, dx},
                   book.plan(ceil_div(n, block)));
  });
}

Layer::Cost ReluLayer::cost(const Blobs& bottom, const Blobs&) const {
  const auto n = static_cast<double>(bottom[0]->count());
  return {n, n, 8 * n, 12 * n};
}

}  // namespace cortado
