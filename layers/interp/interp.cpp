#include <algorithm>
#include <cmath>

#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/interp/programs.h"

namespace cortado {
namespace {
Stretch stretch(i64 in, i64 out) {
  return {in, out, out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1) : 0.0f};
}

/// Interp of DeepLab's and PSPNet's forks: stretches the planes of N x C x H x W by bilinear interpolation, corners
/// upon corners. pad_beg and pad_end, which are not above 0, first cut rows and columns off. The sizes are shrunk by
/// shrink_factor (the first of so many points each), then stretched by zoom_factor (so many steps for one), or are
/// height and width, or those of a second bottom, whose values do not matter.
class InterpLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {1, 2}; }
  bool allows_backward_to(std::size_t i) const override { return i == 0; }
  bool uses_shape_only(std::size_t i) const override { return i == 1; }
  void setup(const Blobs& bottom, const Blobs&) override {
    const auto& p = parameter().interp_param();
    const bool has_factor = p.has_zoom_factor() || p.has_shrink_factor(), has_side = p.has_height() || p.has_width();
    if (p.pad_beg() > 0 || p.pad_end() > 0)
      bad_config("interp_param.pad_beg and pad_end must not be above 0", "pad in the convolution before it");
    if (p.zoom_factor() < 1) bad_config("interp_param.zoom_factor must be at least 1");
    if (p.shrink_factor() < 1) bad_config("interp_param.shrink_factor must be at least 1");
    if (bottom.size() > 1) {
      if (has_factor || has_side)
        bad_config("interp_param gives the top's sizes, and so does the second bottom", "leave one of them away");
      return;
    }
    if (has_factor) return;
    if (!p.has_height() || !p.has_width())
      bad_config("interp_param needs height and width, zoom_factor or shrink_factor", "or give a second bottom");
    if (p.height() < 1 || p.width() < 1) bad_config("interp_param.height and width must be positive");
  }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    const Blob& x = *bottom[0];
    const auto& p = parameter().interp_param();
    if (x.axes() != 4) bad_shape("its bottom has shape " + to_string(x.shape()) + ", it needs N x C x H x W");
    const i64 cut = i64{p.pad_beg()} + p.pad_end(), h = x.dim(2) + cut, w = x.dim(3) + cut;
    if (h < 1 || w < 1)
      bad_shape("pad_beg " + std::to_string(p.pad_beg()) + " and pad_end " + std::to_string(p.pad_end()) +
                " leave nothing of a bottom of shape " + to_string(x.shape()));
    i64 height = extent(h, p.height()), width = extent(w, p.width());
    if (bottom.size() > 1) {
      if (bottom[1]->axes() != 4 || bottom[1]->dim(2) < 1 || bottom[1]->dim(3) < 1)
        bad_shape("its second bottom has shape " + to_string(bottom[1]->shape()) + ", it needs N x C x H x W");
      height = bottom[1]->dim(2), width = bottom[1]->dim(3);
    }
    const i64 begin = -i64{p.pad_beg()};
    planes_ = x.count(0, 2);
    rows_ = stretch(h, height), cols_ = stretch(w, width);
    pitch_ = x.dim(3), plane_pitch_ = x.count(2), offset_ = begin * (x.dim(3) + 1);
    top[0]->reshape({x.dim(0), x.dim(1), height, width});
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    // A line of outputs lies between so many inputs for each, and one more.
    const double inputs = std::max(1.0, double{cols_.step});
    const i64 fit = line_elements(group().spec(), cols_.out, 6);
    const RowLines s{planes_ * rows_.out, cols_.out,
                     std::max<i64>(1, static_cast<i64>(static_cast<double>(fit) / inputs))};
    const WindowRows x =
        window(std::min(cols_.in, static_cast<i64>(std::ceil(static_cast<double>(s.block) * inputs)) + 2));
    PlanBuilder book(group().spec());
    const InterpForward p{rows_, cols_, reads(book, "upper row", bottom[0]->data(), x),
                          reads(book, "lower row", bottom[0]->data(), x), writes(book, "y", top[0]->mutable_data(), s)};
    group().launch(p, book.plan(s.lines()));
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (!propagate_down[0]) return;
    const auto& param = parameter().interp_param();
    if (param.pad_beg() != 0 || param.pad_end() != 0) bottom[0]->zero_diff();
    const RowParts s{{planes_ * rows_.out, cols_.out, line_elements(group().spec(), cols_.out, 5)}};
    PlanBuilder book(group().spec());
    const InterpBackward p{
        rows_, cols_, reads(book, "dy", top[0]->diff(), s),
        writes(book, "dx", bottom[0]->mutable_diff(), window(line_elements(group().spec(), cols_.in, 5))),
        book.tile<float>("sums of rows", s.block, 1)};
    group().launch(p, book.plan(p.dx.lines()));
  }

  Cost cost(const Blobs& bottom, const Blobs& top) const override {
    const auto n = static_cast<double>(bottom[0]->count()), m = static_cast<double>(top[0]->count());
    return {9 * m, 8 * m, 4 * (n + m), 4 * (n + m)};
  }

 private:
  /// The top's extent along an axis, for so many points of the bottom, where `given` is height or width.
  i64 extent(i64 in, i64 given) const {
    const auto& p = parameter().interp_param();
    // As in the forks, height and width count unless one factor stands alone.
    const bool has_sides = p.has_height() && p.has_width();
    if (has_sides && p.has_zoom_factor() == p.has_shrink_factor()) return given;
    const i64 shrunk = (in - 1) / p.shrink_factor() + 1;
    return shrunk + (shrunk - 1) * (i64{p.zoom_factor()} - 1);
  }

  /// The bottom without what is cut off, in lines of up to `most` values.
  WindowRows window(i64 most) const { return {{planes_ * rows_.in, cols_.in, most}, plane_pitch_, pitch_, offset_}; }

  i64 planes_ = 0;
  Stretch rows_{}, cols_{};
  i64 pitch_ = 0, plane_pitch_ = 0;  // of the bottom
  i64 offset_ = 0;                   // of its first value that is not cut off
};

}  // namespace

void add_interp(LayerTable& table) { table.add<InterpLayer>("Interp"); }

}  // namespace cortado
