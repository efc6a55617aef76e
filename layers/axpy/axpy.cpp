#include "core/net/layer_table.h"
#include "layers/axpy/programs.h"
#include "layers/lstm_unit/cell.h"

namespace cortado {
namespace {

/// Axpy of SENet's fork: y = a x + b. The first bottom, a, has a factor for each channel of each sample (N x C, with or
/// without axes of size 1 behind); the second, x, and the third, b, are N x C x ... alike. All three have a gradient.
class AxpyLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {3, 3}; }
  void reshape(const Blobs& bottom, const Blobs& top) override {
    const Blob &a = *bottom[0], &x = *bottom[1], &b = *bottom[2];
    if (x.axes() < 2) bad_shape("its second bottom has shape " + to_string(x.shape()) + ", it needs N x C x ...");
    if (x.shape() != b.shape())
      bad_shape("its second and third bottom differ: " + to_string(x.shape()) + " and " + to_string(b.shape()));
    if (a.axes() < 2 || a.dim(0) != x.dim(0) || a.dim(1) != x.dim(1) || a.count(2) != 1)
      bad_shape("its first bottom has shape " + to_string(a.shape()) +
                ", it needs a factor for each channel: " + std::to_string(x.dim(0)) + " x " + std::to_string(x.dim(1)));
    rows_ = x.count(0, 2), width_ = x.count(2);
    top[0]->reshape(x.shape());
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    scale_rows(group(), rows_, width_, bottom[0]->data(), bottom[1]->data(), bottom[2]->data(), top[0]->mutable_data());
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    const float* const dy = top[0]->diff();
    if (propagate_down[0]) {
      const RowLines rows{rows_, width_, line_elements(group().spec(), width_, 5)};
      PlanBuilder book(group().spec());
      const RowDots p{reads(book, "x", bottom[1]->data(), rows), reads(book, "dy", dy, rows),
                      writes(book, "dots", bottom[0]->mutable_diff(), RowLines::whole(rows_))};
      group().launch(p, book.plan(rows_));
    }
    if (propagate_down[1])
      scale_rows(group(), rows_, width_, bottom[0]->data(), dy, nullptr, bottom[1]->mutable_diff());
    if (propagate_down[2]) group().copy(bottom[2]->mutable_diff(), dy, static_cast<std::size_t>(bottom[2]->bytes()));
  }

  Cost cost(const Blobs&, const Blobs& top) const override {
    const auto n = static_cast<double>(top[0]->count());
    return {2 * n, 3 * n, 12 * n, 24 * n};
  }

 private:
  i64 rows_ = 0, width_ = 0;  // channels of all samples, and the values of each
};

}  // namespace

void add_axpy(LayerTable& table) { table.add<AxpyLayer>("Axpy"); }

}  // namespace cortado
