#include "layers/slice/slice.h"

#include "core/formats/caffe.pb.h"
#include "layers/concat/copy_rows.h"

namespace cortado {

/// The extent of each top along the axis.
std::vector<i64> SliceLayer::widths(i64 extent, std::size_t parts) const {
  const auto& points = parameter().slice_param().slice_point();
  if (points.empty()) {
    if (extent % static_cast<i64>(parts) != 0)
      bad_shape("axis " + std::to_string(axis_) + " has " + std::to_string(extent) + " entries, which " +
                    std::to_string(parts) + " tops do not divide",
                "give slice_point, where to cut");
    return std::vector<i64>(parts, extent / static_cast<i64>(parts));
  }
  if (static_cast<std::size_t>(points.size()) + 1 != parts)
    bad_config(std::to_string(points.size()) + " slice_points for " + std::to_string(parts) + " tops",
               "give one less than tops");
  std::vector<i64> widths;
  i64 from = 0;
  for (const i64 point : points) {
    widths.push_back(point - from);
    from = point;
  }
  widths.push_back(extent - from);
  for (const i64 width : widths)
    if (width <= 0)
      bad_config("slice_points must rise and lie inside axis " + std::to_string(axis_) + " of " +
                 std::to_string(extent) + " entries");
  return widths;
}

void SliceLayer::reshape(const Blobs& bottom, const Blobs& top) {
  const auto& p = parameter().slice_param();
  if (p.has_axis() && p.has_slice_dim()) bad_config("give axis or slice_dim, not both");
  axis_ = bottom[0]->canonical_axis(p.has_slice_dim() ? static_cast<int>(p.slice_dim()) : p.axis());
  const auto parts = widths(bottom[0]->dim(axis_), top.size());
  Shape shape = bottom[0]->shape();
  for (std::size_t i = 0; i < top.size(); ++i) {
    shape[static_cast<std::size_t>(axis_)] = parts[i];
    top[i]->reshape(shape, bottom[0]->precision());
  }
}

void SliceLayer::forward(const Blobs& bottom, const Blobs& top) {
  with_element(bottom[0]->precision(), [&](auto element) {
    using T = decltype(element);
    const T* from = bottom[0]->data<T>();
    for (Blob* t : top) {
      copy_rows(group(), from, bottom[0]->count(axis_), t->mutable_data<T>(), t->count(axis_), t->count(0, axis_),
                t->count(axis_));
      from += t->count(axis_);
    }
  });
}

void SliceLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  if (!propagate_down[0]) return;
  with_element(bottom[0]->precision(), [&](auto element) {
    using T = decltype(element);
    T* to = bottom[0]->mutable_diff<T>();
    for (const Blob* t : top) {
      copy_rows(group(), t->diff<T>(), t->count(axis_), to, bottom[0]->count(axis_), t->count(0, axis_),
                t->count(axis_));
      to += t->count(axis_);
    }
  });
}

Layer::Cost SliceLayer::cost(const Blobs& bottom, const Blobs&) const {
  const auto bytes = 2 * static_cast<double>(bottom[0]->bytes());
  return {0, 0, bytes, bytes};
}

}  // namespace cortado
