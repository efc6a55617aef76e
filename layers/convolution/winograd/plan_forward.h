#pragma once
#include <type_traits>

#include "layers/convolution/planning.h"
#include "layers/convolution/winograd/edges.h"
#include "layers/convolution/winograd/winograd.h"

namespace cortado {
namespace winograd {

/// Tiles of WinogradConvolve, at most.
struct TileForm {
  i64 tiles;       ///< of Winograd's
  i64 vectors;     ///< of outputs
  i64 own_blocks;  ///< blocks of inputs of a batch up to which tiles make the points of weights themselves
};
constexpr TileForm wide = {14, 8, 0}, tall = {56, 2, 4},
                   tall_of_six = {56, 2, 2};  // of F(6x6, 3x3), whose points of weights take longer to make
/// The terms of weights whose points a tile makes at a time. They stay in a second-level cache beside the sums.
constexpr i64 own_terms = 64;

template <class F>
const TileForm& form_of(const ConvolutionShape& s, WinogradVariant::Form form) {
  if (form != WinogradVariant::Form::likely) return form == WinogradVariant::Form::wide ? wide : tall;
  if (std::is_same_v<F, F6x3>) return tall_of_six;
  const i64 tiles = s.mb * ceil_div(s.oh, F::outputs) * ceil_div(s.ow, F::outputs);
  return std::min(s.group_ic(), s.group_oc()) >= 256 || tiles <= tall.own_blocks * tall.tiles ? tall : wide;
}

/// The program but for its division into tiles.
template <class F, class T>
WinogradConvolve<F, T> program_of(const ConvolutionShape& s) {
  WinogradConvolve<F, T> p{};
  p.out = {s.mb,
           s.group_oc(),
           s.oc,
           0,
           ceil_div(s.oh, F::outputs),
           ceil_div(s.ow, F::outputs),
           last_outputs<F>(s.oh),
           last_outputs<F>(s.ow)};
  p.height = s.oh, p.width = s.ow, p.layout = s.dst;
  p.in.height = s.ih, p.in.width = s.iw, p.in.pad_h = s.ph, p.in.pad_w = s.pw, p.in.layout = s.src;
  p.in.tiles = p.out;
  p.in.tiles.channels = s.group_ic(), p.in.tiles.image_channels = s.ic;
  p.filters.line_terms = line_terms;
  p.rows = p.shares = 1;
  return p;
}

}  // namespace winograd

template <class F, class T>
void book(WinogradConvolve<F, T>& p, PlanBuilder& book) {
  p.in.buf = book.tile<float>("pixels of inputs", p.in.floats(), 1);
  p.v_buf = book.spill<float>("points of inputs", p.most_points());
  if (p.own_terms > 0) {
    p.filters.buf = book.tile<float>("weights", p.filters.floats(), 1);
    p.u_buf = book.spill<float>("points of weights", F::products * winograd::distance(p.own_terms, p.panels.panel));
  } else {
    p.u_buf = book.tile<float>("points of weights", p.panels.terms * p.panels.panel, 1);
  }
  p.acc_buf = book.spill<float>("sums", p.most_sums());
  const i64 pixels = F::outputs * p.width * winograd::lanes;
  p.y_buf = p.layout == Layout::nchw16c ? book.line<T>("pixels", pixels, 1) : book.tile<T>("pixels", pixels, 1);
  p.sums_buf = book.line<float>("sums of outputs", 2 * block_channels, 1);
  cortado::book(p.map, block_channels, book);
}

template <class F>
void book(WinogradWeights<F>& p, PlanBuilder& book) {
  p.filters.buf = book.tile<float>("weights", p.filters.floats(), 1);
  p.u_buf = book.tile<float>("points", F::products * winograd::lanes, 1);
}

namespace winograd {

template <class F, class T>
bool fits_with_sums(const MachineSpec& spec, const WinogradConvolve<F, T>& p) {
  return fits(spec, p) && 4 * p.most_sums() <= spec.scratch_bytes;
}

/// The panels of a group, equal ones. They have as many vectors together as the form wants, and as leave the sums in
/// the scratchpad. These are the sums of the form's rows of Winograd's tiles, or else of one row. There are none if
/// there is no room.
template <class F, class T>
WinogradPanels panels_of(const MachineSpec& spec, const ConvolutionShape& s, const TileForm& form) {
  auto p = program_of<F, T>(s);
  const i64 vectors = padded(s.group_oc()) / lanes;
  for (const i64 rows : {std::max<i64>(1, form.tiles / p.out.cols), i64{1}})
    for (i64 most = form.vectors; most > 0; --most) {
      p.rows = rows;
      p.panels = {s.group_oc(), s.group_ic(), F::products, ceil_div(vectors, ceil_div(vectors, most)) * lanes};
      if (fits_with_sums(spec, p)) return p.panels;
    }
  return {};
}

/// The program with its panels and tiles. It has as many rows as the form wants and as fit. It has down to half as many
/// if that leaves equal work for every CPE. Else CPEs share the panels of a tile.
template <class F, class T>
WinogradConvolve<F, T> tiled_program(const MachineSpec& spec, const ConvolutionShape& s, const TileForm& form) {
  auto p = program_of<F, T>(s);
  p.panels = panels_of<F, T>(spec, s, form);
  if (p.panels.panel == 0) return p;
  const i64 all = p.all_rows(), cols = p.out.cols, enough = std::min(form.tiles, all * cols);
  const auto is_spread = [&] { return spec.is_spread(p.tiles()); };
  i64 most = even_part(all, std::max<i64>(1, form.tiles / cols));
  for (p.rows = most; p.rows > 1 && !fits_with_sums(spec, p);) most = p.rows = even_part(all, p.rows - 1);
  for (; !is_spread() && p.rows > 1; p.rows = even_part(all, p.rows - 1))
    if (2 * even_part(all, p.rows - 1) * cols <= enough) break;
  if (!is_spread()) p.rows = most;
  while (!is_spread() && p.shares < p.panels.count()) ++p.shares;
  if (p.blocks() <= form.own_blocks) p.own_terms = std::min(own_terms, s.group_ic());
  if (!fits_with_sums(spec, p)) p.own_terms = 0;
  return p;
}

/// The weights of a direction; `turned` is for the input gradient, in whose shape inputs and outputs have changed
/// places.
template <class F>
WinogradFilters<F> filters_of(const ConvolutionShape& s, bool turned) {
  const i64 taps = F::kernel * F::kernel, to_term = turned ? taps * s.group_oc() : taps,
            to_output = turned ? taps : taps * s.group_ic();
  return {nullptr, s.group_oc(), s.group_ic(), to_output, to_term, turned, line_terms, {}};
}

/// The parts of a forward plan.
template <class F, class T>
struct Forward {
  Planned<WinogradWeights<F>> weights;                ///< to points
  Planned<WinogradConvolve<F, T>> by_memory, by_own;  ///< by points in memory, or that tiles make themselves
  bool makes_own;
  bool turned;
  i64 src_group, dst_group, weights_group;  ///< values of an image, or weights, of a group

  void run(CoreGroup& group, i64 groups, const ConvolutionArguments& arg, float* workspace) const {
    const WinogradPanels& panels = by_memory.program.panels;
    const bool from_memory = !makes_own;
    for (i64 g = 0; g < groups; ++g) {
      const float* const w = arg.w + g * weights_group;
      float* const points = arg.kept != nullptr ? arg.kept + g * panels.floats() : workspace;
      if (from_memory && !arg.are_kept) launch(group, weights, [&](auto& p) { p.filters.w = w, p.u = points; });
      launch(group, from_memory ? by_memory : by_own, [&](auto& p) {
        p.in.x = (turned ? arg.dy_as<T>() : arg.x_as<T>()) + g * src_group;
        p.y = arg.out_as<T>() + g * dst_group;
        p.sums = arg.sums == nullptr ? nullptr : arg.sums + g * panels.outputs;
        arg.map_by(p.map, g * panels.outputs);
        p.filters.w = w;
        p.u = from_memory ? points : nullptr;
      });
    }
  }
};

/// Forward, or the input gradient as a forward convolution of `turned` weights. Group by group.
template <class F, class T>
ConvolutionPlan plan_forward(const MachineSpec& spec, const ConvolutionShape& s, bool turned,
                             const WinogradVariant& variant) {
  auto program = tiled_program<F, T>(spec, s, form_of<F>(s, variant.form));
  ConvolutionPlan plan;
  plan.decisions = {program.panels.panel, program.rows, program.shares, program.own_terms, F::points};
  if (program.panels.panel == 0) {
    plan.refused = "a row of tiles, with all its products, does not fit the scratchpad";
    return plan;
  }
  const i64 panels = program.panels.floats();
  Forward<F, T> forward;
  forward.makes_own = program.own_terms > 0;
  forward.turned = turned;
  forward.src_group = s.group_ic() * s.ih * s.iw, forward.dst_group = s.group_oc() * s.oh * s.ow;
  forward.weights_group = s.terms() * s.group_oc();
  program.filters = filters_of<F>(s, turned);
  forward.by_own = planned(spec, program, 0, plan.refused);
  program.own_terms = 0;
  forward.by_memory = planned(spec, program, 0, plan.refused);
  const WinogradWeights<F> weights{program.filters, nullptr, program.panels, {}};
  forward.weights = planned(spec, weights, weights.lines(), plan.refused);
  forward.by_own.plan.streams = forward.by_memory.plan.streams =
      spec.outgrows_cache(s.mb * s.dst_image() * static_cast<i64>(sizeof(T)));
  plan.workspace = forward.makes_own ? 0 : panels;
  plan.kept_weights = turned || forward.makes_own ? 0 : s.g * panels;
  if (!turned && s.dst == Layout::nchw16c) plan.partial_sums = s.mb * ceil_div(s.oh, F::outputs);
  plan.maps = !turned;
  plan.run = [forward, groups = s.g](CoreGroup& group, const ConvolutionArguments& arg, float* workspace) {
    forward.run(group, groups, arg, workspace);
  };
  return plan;
}

}  // namespace winograd
}  // namespace cortado
