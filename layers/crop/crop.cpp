#include "core/formats/caffe.pb.h"
#include "core/machine/launch_copy_lines.h"
#include "core/net/layer_table.h"
#include "layers/permute/programs.h"

namespace cortado {
namespace {

/// Caffe's Crop: cuts the first bottom's axes from `axis` on to the second bottom's sizes, beginning at the offsets.
/// There may be no offset, which means 0, one for all axes, or one for each.
class CropLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {2, 2}; }
  bool allows_backward_to(std::size_t i) const override { return i == 0; }
  bool uses_shape_only(std::size_t i) const override { return i == 1; }
  void reshape(const Blobs& bottom, const Blobs& top) override {
    const auto& p = parameter().crop_param();
    const int axes = bottom[0]->axes(), first = bottom[0]->canonical_axis(p.axis());
    if (axes > most_axes) bad_shape("has more than " + std::to_string(most_axes) + " axes");
    if (bottom[1]->axes() < axes)
      bad_shape("the second bottom's shape " + to_string(bottom[1]->shape()) +
                " has fewer axes than the first one's, " + to_string(bottom[0]->shape()));
    if (p.offset_size() > 1 && p.offset_size() != axes - first)
      bad_config(std::to_string(p.offset_size()) + " offsets for " + std::to_string(axes - first) + " axes",
                 "give none, one, or one for each");
    Shape shape = bottom[0]->shape();
    Axes window{};
    for (int d = 0; d < most_axes; ++d) window.size[d] = 1, window.pitch[d] = 0;
    begin_ = 0;
    for (int d = 0; d < axes; ++d) {
      const int at = d + most_axes - axes;
      window.size[at] = bottom[0]->dim(d), window.pitch[at] = bottom[0]->count(d + 1);
      if (d < first) continue;
      const i64 offset = p.offset_size() == 0 ? 0 : p.offset(p.offset_size() == 1 ? 0 : d - first);
      window.size[at] = shape[static_cast<std::size_t>(d)] = bottom[1]->dim(d);
      begin_ += offset * window.pitch[at];
      if (offset + bottom[1]->dim(d) > bottom[0]->dim(d))
        bad_shape(std::to_string(bottom[1]->dim(d)) + " entries of axis " + std::to_string(d) + " from offset " +
                  std::to_string(offset) + " on exceed the bottom's shape " + to_string(bottom[0]->shape()));
    }
    top[0]->reshape(shape);
    const i64 width = window.size[most_axes - 1];
    dense_ = {axes > 0 ? top[0]->count(0, axes - 1) : 1, width, line_elements(group().spec(), width, 3)};
    window_ = {dense_, window};
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    copy_lines(group(), bottom[0]->data() + begin_, window_, top[0]->mutable_data(), dense_);
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (!propagate_down[0]) return;
    bottom[0]->zero_diff();
    copy_lines(group(), top[0]->diff(), dense_, bottom[0]->mutable_diff() + begin_, window_);
  }

  Cost cost(const Blobs& bottom, const Blobs& top) const override {
    const auto bytes = 2 * static_cast<double>(top[0]->bytes());
    return {0, 0, bytes, bytes + static_cast<double>(bottom[0]->bytes())};
  }

 private:
  RowLines dense_{};    // the window alone
  AxisLines window_{};  // the window as it lies in the bottom, from the place of its first value on
  i64 begin_ = 0;       // that place
};

}  // namespace

void add_crop(LayerTable& table) { table.add<CropLayer>("Crop"); }

}  // namespace cortado
