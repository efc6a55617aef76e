#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/tile/programs.h"

namespace cortado {
namespace {

/// Caffe's Tile: the bottom `tiles` times one after another along `axis`.
class TileLayer : public Layer {
 public:
  using Layer::Layer;
  void reshape(const Blobs& bottom, const Blobs& top) override {
    const auto& p = parameter().tile_param();
    if (p.tiles() < 1) bad_config("tiles must be at least 1");
    const int axis = bottom[0]->canonical_axis(p.axis());
    Shape shape = bottom[0]->shape();
    shape[static_cast<std::size_t>(axis)] *= p.tiles();
    top[0]->reshape(shape);
    const i64 width = bottom[0]->count(axis);
    rows_ = {bottom[0]->count(0, axis), width, line_elements(group().spec(), width, 4)};
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    PlanBuilder book(group().spec());
    const TileForward p{reads(book, "x", bottom[0]->data(), rows_),
                        writes(book, "y", top[0]->mutable_data(), tiles(), Depth::two)};
    group().launch(p, book.plan(rows_.lines()));
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (!propagate_down[0]) return;
    PlanBuilder book(group().spec());
    const TileBackward p{reads(book, "dy", top[0]->diff(), tiles()),
                         writes(book, "dx", bottom[0]->mutable_diff(), rows_)};
    group().launch(p, book.plan(rows_.lines()));
  }

  Cost cost(const Blobs& bottom, const Blobs& top) const override {
    const auto n = static_cast<double>(bottom[0]->count()), m = static_cast<double>(top[0]->count());
    return {0, m, 4 * (n + m), 4 * (n + m)};
  }

 private:
  TiledRows tiles() const { return {rows_, parameter().tile_param().tiles()}; }

  RowLines rows_{};
};

}  // namespace

void add_tile(LayerTable& table) { table.add<TileLayer>("Tile"); }

}  // namespace cortado
