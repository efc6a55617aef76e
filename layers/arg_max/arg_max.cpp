#include "layers/arg_max/arg_max.h"

#include <algorithm>
#include <functional>

#include "core/formats/caffe.pb.h"

namespace cortado {

void ArgMaxLayer::reshape(const Blobs& bottom, const Blobs& top) {
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

void ArgMaxLayer::forward(const Blobs& bottom, const Blobs& top) {
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

}  // namespace cortado
