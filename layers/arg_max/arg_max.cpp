#include <algorithm>
#include <functional>

#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"

namespace cortado {
namespace {

/// Caffe's ArgMax: the places of the top_k largest values along `axis`, largest first; of equal values the later place
/// first, as Caffe sorts. With out_max_val, along an axis, it gives the values instead. Without an axis each sample is
/// one row and the top is N x 1 x top_k. With out_max_val it is then N x 2 x top_k: places, then values. It has no
/// gradient, and works on the management side.
class ArgMaxLayer : public Layer {
 public:
  using Layer::Layer;
  bool allows_backward_to(std::size_t /*i*/) const override { return false; }
  void reshape(const Blobs& bottom, const Blobs& top) override {
    const auto& p = parameter().argmax_param();
    const int axis = p.has_axis() ? bottom[0]->canonical_axis(p.axis()) : 1;
    outer_ = bottom[0]->count(0, axis);
    classes_ = p.has_axis() ? bottom[0]->dim(axis) : bottom[0]->count(axis);
    inner_ = p.has_axis() ? bottom[0]->count(axis + 1) : 1;
    const i64 k = p.top_k();
    if (k < 1 || k > classes_)
      bad_config("top_k " + std::to_string(k) + " of " + std::to_string(classes_) + " values", "1 or more, not above");
    Shape shape = bottom[0]->shape();
    if (p.has_axis()) {
      shape[static_cast<std::size_t>(axis)] = k;
    } else {
      shape.assign(static_cast<std::size_t>(std::max(3, bottom[0]->axes())), 1);
      shape[0] = bottom[0]->dim(0);
      shape[2] = k;
      if (p.out_max_val()) shape[1] = 2;
    }
    top[0]->reshape(shape);
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    if (group().spec().timing_only) return;
    const auto& p = parameter().argmax_param();
    const i64 k = p.top_k();
    const auto x = bottom[0]->data_vector();
    std::vector<float> y(static_cast<std::size_t>(top[0]->count()));
    std::vector<std::pair<float, i64>> row(static_cast<std::size_t>(classes_));
    for (i64 o = 0; o < outer_; ++o)
      for (i64 i = 0; i < inner_; ++i) {
        for (i64 c = 0; c < classes_; ++c)
          row[static_cast<std::size_t>(c)] = {x[static_cast<std::size_t>((o * classes_ + c) * inner_ + i)], c};
        std::partial_sort(row.begin(), row.begin() + k, row.end(), std::greater<>());
        for (i64 j = 0; j < k; ++j) {
          const auto [value, place] = row[static_cast<std::size_t>(j)];
          if (p.has_axis()) {
            y[static_cast<std::size_t>((o * k + j) * inner_ + i)] = p.out_max_val() ? value : static_cast<float>(place);
          } else {
            const i64 at = o * (p.out_max_val() ? 2 * k : k) + j;
            y[static_cast<std::size_t>(at)] = static_cast<float>(place);
            if (p.out_max_val()) y[static_cast<std::size_t>(at + k)] = value;
          }
        }
      }
    top[0]->write_data(y.data());
  }

  void backward(const Blobs&, const std::vector<bool>&, const Blobs&) override {}

 private:
  i64 outer_ = 1, classes_ = 1, inner_ = 1;
};

}  // namespace

void add_arg_max(LayerTable& table) { table.add<ArgMaxLayer>("ArgMax"); }

}  // namespace cortado
