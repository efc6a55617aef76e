#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/concat/copy_rows.h"

namespace cortado {
namespace {

/// Caffe's Slice: cuts the bottom along `axis` (or the older slice_dim) at the slice_points, or into equal parts, one
/// for each top.
class SliceLayer : public Layer {
 public:
  using Layer::Layer;
  static bool keeps_bf16(const caffe::LayerParameter& /*parameter*/) { return true; }
  Arity tops() const override { return {1, -1}; }
  void reshape(const Blobs& bottom, const Blobs& top) override {
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

  void forward(const Blobs& bottom, const Blobs& top) override {
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

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
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

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    const auto bytes = 2 * static_cast<double>(bottom[0]->bytes());
    return {0, 0, bytes, bytes};
  }

 private:
  /// The extent of each top along the axis.
  std::vector<i64> widths(i64 extent, std::size_t parts) const {
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

  int axis_ = 1;
};

}  // namespace

void add_slice(LayerTable& table) { table.add<SliceLayer>("Slice"); }

}  // namespace cortado
