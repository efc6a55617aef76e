#include "layers/relu/relu.h"

#include "core/formats/caffe.pb.h"
#include "layers/relu/programs.h"

namespace cortado {

float ReluLayer::slope() const { return parameter().relu_param().negative_slope(); }

void ReluLayer::reshape(const Blobs& bottom, const Blobs& top) { top[0]->reshape(bottom[0]->shape()); }

void ReluLayer::forward(const Blobs& bottom, const Blobs& top) {
  const i64 n = bottom[0]->count(), block = line_elements(group().spec(), n, 3);
  PlanBuilder book(group().spec());
  const Buf x = book.line("x", block * 4, Depth::two), y = book.line("y", block * 4, 1);
  group().launch(ReluForward{bottom[0]->data(), top[0]->mutable_data(), slope(), n, block, x, y},
                 book.plan((n + block - 1) / block));
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
  group().launch(ReluBackward{from_input ? bottom[0]->data() : top[0]->data(), top[0]->diff(),
                              bottom[0]->mutable_diff(), slope(), n, block, y, dy, dx},
                 book.plan((n + block - 1) / block));
}

Layer::Cost ReluLayer::cost(const Blobs& bottom, const Blobs&) const {
  const auto n = static_cast<double>(bottom[0]->count());
  return {n, n, 8 * n, 12 * n};
}

}  // namespace cortado
