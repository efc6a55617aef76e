#include "layers/tile/tile.h"

#include "core/formats/caffe.pb.h"

namespace cortado {

void TileLayer::reshape(const Blobs& bottom, const Blobs& top) {
  const auto& p = parameter().tile_param();
  if (p.tiles() < 1) bad_config("tiles must be at least 1");
  const int axis = bottom[0]->canonical_axis(p.axis());
  Shape shape = bottom[0]->shape();
  shape[static_cast<std::size_t>(axis)] *= p.tiles();
  top[0]->reshape(shape);
  const i64 width = bottom[0]->count(axis);
  rows_ = {{bottom[0]->count(0, axis), width, line_elements(group().spec(), width, 4)}, p.tiles()};
}

void TileLayer::forward(const Blobs& bottom, const Blobs& top) {
  PlanBuilder book(group().spec());
  const Buf x = book.line<float>("x", rows_.block, Depth::two), y = book.line<float>("y", rows_.block, Depth::two);
  group().launch(TileForward{rows_, bottom[0]->data(), top[0]->mutable_data(), x, y}, book.plan(rows_.lines()));
}

void TileLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  if (!propagate_down[0]) return;
  PlanBuilder book(group().spec());
  const Buf dy = book.line<float>("dy", rows_.block, Depth::two), dx = book.line<float>("dx", rows_.block, 1);
  group().launch(TileBackward{rows_, top[0]->diff(), bottom[0]->mutable_diff(), dy, dx}, book.plan(rows_.lines()));
}

Layer::Cost TileLayer::cost(const Blobs& bottom, const Blobs& top) const {
  const auto n = static_cast<double>(bottom[0]->count()), m = static_cast<double>(top[0]->count());
  return {0, m, 4 * (n + m), 4 * (n + m)};
}

}  // namespace cortado
