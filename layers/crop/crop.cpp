#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/crop/programs.h"

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
    if (axes > window_axes) bad_shape("has more than " + std::to_string(window_axes) + " axes");
    if (bottom[1]->axes() < axes)
      bad_shape("the second bottom's shape " + to_string(bottom[1]->shape()) +
                " has fewer axes than the first one's, " + to_string(bottom[0]->shape()));
    if (p.offset_size() > 1 && p.offset_size() != axes - first)
      bad_config(std::to_string(p.offset_size()) + " offsets for " + std::to_string(axes - first) + " axes",
                 "give none, one, or one for each");
    Shape shape = bottom[0]->shape();
    for (int d = 0; d < window_axes; ++d) window_.extent[d] = window_.size[d] = 1, window_.origin[d] = 0;
    for (int d = 0; d < axes; ++d) {
      const int at = d + window_axes - axes;
      window_.extent[at] = window_.size[at] = bottom[0]->dim(d);
      if (d < first) continue;
      const i64 offset = p.offset_size() == 0 ? 0 : p.offset(p.offset_size() == 1 ? 0 : d - first);
      window_.size[at] = shape[static_cast<std::size_t>(d)] = bottom[1]->dim(d);
      window_.origin[at] = offset;
      if (offset + bottom[1]->dim(d) > bottom[0]->dim(d))
        bad_shape(std::to_string(bottom[1]->dim(d)) + " entries of axis " + std::to_string(d) + " from offset " +
                  std::to_string(offset) + " on exceed the bottom's shape " + to_string(bottom[0]->shape()));
    }
    window_.block = line_elements(group().spec(), window_.width(), 3);
    top[0]->reshape(shape);
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    copy(bottom[0]->data(), top[0]->mutable_data(), false);
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (!propagate_down[0]) return;
    bottom[0]->zero_diff();
    copy(top[0]->diff(), bottom[0]->mutable_diff(), true);
  }

  Cost cost(const Blobs& bottom, const Blobs& top) const override {
    const auto bytes = 2 * static_cast<double>(top[0]->bytes());
    return {0, 0, bytes, bytes + static_cast<double>(bottom[0]->bytes())};
  }

 private:
  void copy(const float* from, float* to, bool back) {
    PlanBuilder book(group().spec());
    const Buf from_buf = book.line<float>("from", window_.block, Depth::two),
              to_buf = book.line<float>("to", window_.block, 1);
    group().launch(CopyWindow{window_, from, to, back, from_buf, to_buf}, book.plan(window_.lines()));
  }

  CropWindow window_{};
};

}  // namespace

void add_crop(LayerTable& table) { table.add<CropLayer>("Crop"); }

}  // namespace cortado
