#pragma once
#include <algorithm>

#include "layers/convolution/direct/direct.h"
#include "layers/convolution/direct/programs.h"
#include "layers/convolution/planning.h"

namespace cortado {
namespace direct {

constexpr i64 terms_of_step = 256;  ///< products summed between loads of sums: enough to hide those
constexpr i64 columns_of_block = 64;
constexpr i64 narrow = 9;  ///< columns of images whose rows leave registers for three vectors

/// The outputs of a panel: two or three vectors, whichever leaves fewer lanes empty. Then as many rows of sums as
/// latency asks for fit the registers beside them. It is one vector where those would leave more than an eighth of the
/// lanes empty. Outputs in blocks take whole blocks.
inline i64 panel_of(const MachineSpec& spec, i64 outputs, i64 columns, Layout layout) {
  const i64 vector = std::max(1, spec.simd_bytes / 4);
  const auto lanes = [&](i64 vectors) { return ceil_div(outputs, vectors * vector) * vectors * vector; };
  const bool is_narrow = columns <= narrow && 8 * lanes(3) < 9 * lanes(2);
  const i64 best = is_narrow || lanes(3) < lanes(2) ? 3 : 2;
  const i64 panel = 8 * lanes(1) < 7 * lanes(best) ? vector : best * vector;
  return layout == Layout::nchw16c ? round_up(panel, block_channels) : panel;
}

/// `kernel`: positions of the whole kernel, of which the shape's may be a part; packing stages all of them.
template <class T>
PackedWeights packed_forward(const MachineSpec& spec, const ConvolutionShape& s, i64 kernel) {
  const i64 taps = s.kh * s.kw, panel = panel_of(spec, s.group_oc(), s.ow, s.dst);
  const i64 stageable = std::max<i64>(1, spec.scratch_bytes / 8 / (panel * kernel * OperandOf<T>::terms));
  const i64 terms = ceil_div(s.group_ic(), OperandOf<T>::terms), unit = channel_block(s.src);
  const i64 least = ceil_div(unit, OperandOf<T>::terms);
  const bool spreads_columns = unit > 1 && s.kw > 1 && s.dw > 1;
  const i64 most = spreads_columns ? least : std::min(stageable, std::max<i64>(8, terms_of_step / taps));
  const i64 slice = least * even_part(terms / least, most / least);
  return {s.g, s.group_oc(), terms, taps, panel, slice, s.src == Layout::nchw16c ? least : slice};
}

}  // namespace direct

template <class T>
void book(DirectForward<T>& p, PlanBuilder& builder) {
  const DirectTiles& t = p.tile;
  p.x_buf = builder.tile<float>("pixels", t.images * p.packed.slice * p.halo().plane(), 1);
  p.w_buf = builder.tile<float>("weights", t.panels * p.packed.piece(), 1);
  p.acc_buf = builder.tile<float>("sums", t.panels * t.images * t.rows * t.cols * p.packed.panel, 1);
  p.sums_buf = builder.line<float>("sums of outputs", 2 * block_channels, 1);
  book(p.map, p.packed.panel, builder);
}

template <class T>
void book(DirectWeightGradient<T>& p, PlanBuilder& builder) {
  const DirectTiles& t = p.tile;
  p.x_buf = builder.tile<float>("pixels", t.images * p.packed.slice * p.halo().plane(), 1);
  p.dy_buf = builder.tile<float>("gradients", t.images * t.rows * t.cols * t.panels * p.packed.panel, 1);
  p.acc_buf = builder.tile<float>("sums", t.panels * p.packed.piece(), 1);
}

template <class T>
void book(PackWeights<T>& p, PlanBuilder& builder) {
  p.from_buf = builder.tile<float>("weights", p.packed.slice * p.packed.panel * p.together * p.kernel, 1);
  p.to_buf = builder.tile<float>("packed", p.packed.unit * p.packed.panel, 1);
}

inline void book(UnpackWeights& p, PlanBuilder& builder) {
  p.from_buf = builder.tile<float>("packed", p.packed.piece(), Depth::two);
  book(p.to, p.packed.taps * p.packed.slice, builder);
}

namespace direct {

/// `kernel` as in packed_forward. Tiles are as large as the variant asks for, or as small as fits a scratchpad and
/// gives every core work.
template <class T>
DirectForward<T> forward_program(const MachineSpec& spec, const ConvolutionShape& s, i64 kernel,
                                 const DirectVariant& variant) {
  DirectForward<T> p{};
  p.s = s.sizes(s.mb);
  p.packed = packed_forward<T>(spec, s, kernel);
  p.y_plane = s.oh * s.ow, p.y_row = s.ow, p.y_col = 1;
  DirectTiles& t = p.tile;
  t.cols = even_part(s.ow, s.oh == 1 ? variant.pixels : columns_of_block);
  if (s.oh == 1) t.cols = std::min(s.ow, round_up(t.cols, i64{16}));  // whole cache lines
  t.rows = even_part(s.oh, std::max<i64>(1, variant.pixels / t.cols));
  t.images = std::clamp<i64>(variant.pixels / (t.rows * t.cols), 1, s.mb);
  if (p.skips_pixels()) t.images = 1;
  const i64 panels = t.panels = p.packed.panels();
  // What cores do not share out, each of them reads whole.
  const bool by_channels = variant.split == DirectVariant::Split::channels ||
                           (variant.split == DirectVariant::Split::likely && s.oc * s.terms() > s.mb * s.src_image());
  if (by_channels) t.panels = even_part(panels, ceil_div(panels, i64{spec.cpes}));
  const auto is_too_large = [&] { return !fits(spec, p); };
  const auto is_too_coarse = [&] {
    return !spec.is_spread(ceil_div(s.mb, t.images) * s.g * ceil_div(s.oh, t.rows) * ceil_div(s.ow, t.cols) *
                           ceil_div(panels, t.panels));
  };
  const auto is_either = [&] { return is_too_large() || is_too_coarse(); };
  shrink(t.images, s.mb, is_either);
  shrink(t.panels, panels, is_too_large);
  shrink(t.rows, s.oh, is_either);
  shrink(t.panels, panels, is_too_coarse);
  shrink(t.cols, s.ow, is_too_large);
  return p;
}

/// Slice and panels of a weight gradient: as many sums as a third of the scratchpad holds, of a shape that stages least
/// anew. Inputs come once for every block of panels, gradients, which must be turned, once for every slice.
template <class T>
void choose_sums(const MachineSpec& spec, DirectWeightGradient<T>& p) {
  const ConvolutionSizes& s = p.s;
  const bool strides = s.kh == 1 && s.kw == 1 && s.sw > 1 && s.src == Layout::nchw;
  const double input = strides ? 4 : 1, turned = s.dst == Layout::nchw ? 4 : 1;  // costs, in those of a plain copy
  const i64 unit = channel_block(s.src);
  const i64 sums = spec.scratch_bytes / 12 / p.packed.taps;
  double least = 0;
  for (i64 panels = 1; panels <= p.packed.panels(); ++panels) {
    const i64 lanes = panels * p.packed.panel, most = std::max<i64>(8, sums / lanes),
              slice = unit * even_part(s.group_ic() / unit, most / unit);
    const double cost =
        input * static_cast<double>(ceil_div(p.packed.panels(), panels)) / static_cast<double>(s.group_oc()) +
        turned * static_cast<double>(ceil_div(s.group_ic(), slice)) / static_cast<double>(s.group_ic());
    if (least == 0 || cost < least) least = cost, p.tile.panels = panels, p.packed.slice = slice;
  }
  p.tile.panels = even_part(p.packed.panels(), p.tile.panels);
}

/// Tiles as forward_program's; with UnpackWeights, which comes after it, it fits a scratchpad.
template <class T>
DirectWeightGradient<T> weight_gradient_program(const MachineSpec& spec, const ConvolutionShape& s,
                                                const DirectVariant& variant) {
  DirectWeightGradient<T> p{};
  p.s = s.sizes(s.mb);
  const i64 unit = channel_block(s.src);  // channels that a slice cannot part
  p.packed = {s.g, s.group_oc(), s.group_ic(), s.kh * s.kw, panel_of(spec, s.group_oc(), narrow + 1, s.dst), 0, 0};
  DirectTiles& t = p.tile;
  // A block's sums are loaded and stored for each of its sixteen inputs. More pixels of planes would leave a cache.
  const i64 pixels = s.src == Layout::nchw16c ? 2 * variant.pixels : variant.pixels;
  t.cols = even_part(s.ow, s.oh == 1 ? pixels : columns_of_block);
  t.rows = even_part(s.oh, std::max<i64>(1, pixels / t.cols));
  const i64 operands = ceil_div(s.mb, p.together);  // images, or pairs of them
  t.images = std::clamp<i64>(pixels / (t.rows * t.cols), 1, operands);
  choose_sums(spec, p);
  p.parts = 1;
  const i64 panels = p.packed.panels();
  const auto is_too_large = [&] {
    UnpackWeights unpack{};
    unpack.packed = p.packed;
    return !fits(spec, p) || !fits(spec, unpack);
  };
  const auto is_too_coarse = [&] {
    return !spec.is_spread(p.parts * s.g * p.packed.slices() * ceil_div(panels, t.panels));
  };
  const auto is_either = [&] { return is_too_large() || is_too_coarse(); };
  // Parts of the images stage everything once, but each has its sums to add; fewer panels stage the inputs again.
  const auto takes_parts = [&] {
    using Split = DirectVariant::Split;
    return variant.split == Split::images ||
           (variant.split == Split::likely && 4 * (p.parts + 1) * p.packed.floats() <= s.mb * s.src_image());
  };
  const auto shrink_slice = [&](i64 least, const auto& is_wrong) {
    while (p.packed.slice > least && is_wrong())
      p.packed.slice = unit * even_part(s.group_ic() / unit, p.packed.slice / unit - 1);
  };
  shrink(t.images, operands, is_too_large);
  shrink(t.rows, s.oh, is_too_large);
  shrink(t.panels, panels, is_too_large);
  while (p.parts < operands && is_too_coarse() && takes_parts()) ++p.parts;
  shrink(t.panels, panels, is_too_coarse);
  shrink_slice(std::max<i64>(8, unit), is_either);
  while (p.parts < operands && is_too_coarse()) ++p.parts;
  shrink(t.cols, s.ow, is_too_large);
  shrink_slice(unit, is_too_large);
  return p;
}

}  // namespace direct
}  // namespace cortado
