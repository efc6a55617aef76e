#include "layers/convolution/strassen/strassen.h"

#include <algorithm>

#include "layers/convolution/planning.h"
#include "layers/convolution/strassen/programs.h"

namespace cortado {

/// `blocks`: of channels, that are multiplied together, in `sums` sums of as many of `quadrants` quadrants at a time.
static void book(StrassenPixels& p, i64 blocks, i64 sums, int quadrants, PlanBuilder& book) {
  const i64 floats = p.pixels() * blocks * block_channels;
  for (Buf& quadrant : p.quadrant_buf) quadrant = book.spill<float>("quadrant", floats);
  p.sum_buf = book.spill<float>("sums of quadrants", sums * floats);
  p.line_buf = book.line<float>("pixels", p.cols * block_channels, 2 * quadrants);
}

static void book(StrassenForward& p, PlanBuilder& builder) {
  book(p.in, p.slice, strassen::right_sums, 4, builder);
  p.w_buf = builder.spill<float>("weights", p.slice * block_channels * p.panels.panel);
  p.product_buf = builder.tile<float>("product", p.in.pixels() * p.panels.panel, 1);
  p.acc_buf = builder.spill<float>("sums", p.kept_panels() * p.panel_rows() * block_channels);
  p.y_buf = builder.line<float>("outputs", p.in.cols * block_channels, 1);
  p.sums_buf = builder.line<float>("sums of outputs", 2 * block_channels, 1);
  book(p.map, block_channels, builder);
}

static void book(StrassenGradient& p, PlanBuilder& builder) {
  book(p.x, p.in_slice, 1, 2, builder);
  book(p.dy, p.out_slice, 1, 2, builder);
  p.acc_buf = builder.spill<float>("sums", p.in_slice * p.out_slice * block_channels * block_channels);
}

static void book(StrassenWeights& p, PlanBuilder& builder) {
  const i64 floats = StrassenPanels::line * StrassenPanels::panel;
  for (Buf& from : p.from_buf) from = builder.tile<float>("quadrant", floats, 1);
  p.to_buf = builder.tile<float>("packed", floats, 1);
}

static void book(StrassenGradientSums& p, PlanBuilder& builder) {
  for (Buf& from : p.from_buf) from = builder.line<float>("product", p.rows * p.cols, 1);
  book(p.to, p.cols, builder);
}

namespace {

/// Pixels of a half, at most: outputs of a panel for so many stay in a first-level cache until they join others; in a
/// weight gradient they are terms, summed between loads of sums.
constexpr i64 pixels_of_outputs = 112, pixels_of_terms = 224;
constexpr i64 blocks_of_slice = 16;  ///< of channels, whose sums of quadrants stay in a second-level cache

StrassenPixels pixels_of(i64 images, i64 channels, i64 plane, i64 most) {
  StrassenPixels p{};
  p.all_images = images, p.channels = channels, p.plane = plane;
  p.cols = even_part(plane, most);
  p.images = p.cols < plane ? 1 : std::clamp<i64>(most / plane, 1, ceil_div(images, i64{2}));
  return p;
}

/// Forward, or the input gradient as a forward convolution, whose inputs are the shape's outputs, with up to `most`
/// pixels in a half.
StrassenForward forward_program(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionDirection direction,
                                i64 most) {
  const bool turned = direction == ConvolutionDirection::input_gradient;
  const i64 outputs = turned ? s.ic : s.oc, terms = turned ? s.oc : s.ic;
  StrassenForward p{};
  p.in = pixels_of(s.mb, terms, s.pixels(), most);
  p.panels = {outputs, terms};
  p.slice = even_part(p.in.blocks(), blocks_of_slice);
  p.shares = 1;
  while (p.shares < p.panels.panels() &&
         (4 * p.kept_panels() * p.panel_rows() * block_channels > spec.scratch_bytes || !spec.is_spread(p.tiles())))
    ++p.shares;
  return p;
}

StrassenGradient gradient_program(const MachineSpec& spec, const ConvolutionShape& s, i64 most) {
  StrassenGradient p{};
  p.x = pixels_of(s.mb, s.ic, s.pixels(), most);
  p.dy = pixels_of(s.mb, s.oc, s.pixels(), most);
  p.x.turned = true;
  p.in_slice = p.x.blocks(), p.out_slice = p.dy.blocks();
  const auto bytes = [&] { return 4 * p.in_slice * p.out_slice * block_channels * block_channels; };
  while (p.in_slice * p.out_slice > 1 && (2 * bytes() > spec.scratch_bytes || !spec.is_spread(p.tiles()))) {
    i64& larger = p.in_slice > p.out_slice ? p.in_slice : p.out_slice;
    larger = even_part(&larger == &p.in_slice ? p.x.blocks() : p.dy.blocks(), larger - 1);
  }
  return p;
}

/// Calls make(most pixels of a half) with `most`, or less until the program fits a scratchpad.
template <class Make>
auto fitting(const MachineSpec& spec, i64 most, Make make) {
  for (;; most /= 2) {
    const auto program = make(most);
    if (fits(spec, program) || most == 1) return program;
  }
}
StrassenForward forward_program(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionDirection direction) {
  return fitting(spec, pixels_of_outputs, [&](i64 most) { return forward_program(spec, s, direction, most); });
}
StrassenGradient gradient_program(const MachineSpec& spec, const ConvolutionShape& s) {
  return fitting(spec, pixels_of_terms, [&](i64 most) { return gradient_program(spec, s, most); });
}

/// Books what joining another gradient takes, too; false if that does not fit.
bool book_other(const MachineSpec& spec, Planned<StrassenForward>& forward) {
  StrassenForward p = forward.program;
  PlanBuilder builder(spec);
  book(p, builder);
  book(p.other, p.in.cols, builder);
  if (!builder.fits()) return false;
  forward = {p, builder.plan(p.tiles())};
  return true;
}

void plan_forward(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionDirection direction,
                  ConvolutionPlan& plan) {
  const bool turned = direction == ConvolutionDirection::input_gradient;
  const StrassenForward program = forward_program(spec, s, direction);
  const StrassenWeights weights{nullptr, turned ? 1 : s.ic, turned ? s.ic : 1, nullptr, program.panels, {}, {}};
  auto forward = planned(spec, program, program.tiles(), plan.refused);
  const auto pack = planned(spec, weights, weights.lines(), plan.refused);
  plan.workspace = program.panels.floats();
  if (turned) {
    plan.joins = plan.refused.empty() && book_other(spec, forward);
  } else {
    plan.kept_weights = plan.workspace;
    plan.partial_sums = program.in.pairs();
    plan.maps = true;
  }
  plan.run = [forward, pack, turned](CoreGroup& group, const ConvolutionArguments& arg, float* workspace) {
    float* const packed = arg.kept != nullptr ? arg.kept : workspace;
    if (!arg.are_kept) launch(group, pack, [&](auto& p) { p.w = arg.w, p.to = packed; });
    launch(group, forward, [&](auto& p) {
      p.in.x = turned ? arg.dy_as<float>() : arg.x_as<float>();
      p.w = packed, p.y = arg.out_as<float>(), p.sums = arg.sums;
      arg.map_by(p.map);
      arg.join_to(p.other);
    });
  };
}

void plan_gradient(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionPlan& plan) {
  const StrassenGradient program = gradient_program(spec, s);
  const auto products = planned(spec, program, program.tiles(), plan.refused);
  const StrassenGradientSums of_products{nullptr, nullptr, false, program.inputs(), program.outputs(), {}, {}};
  const auto sums = planned(spec, of_products, of_products.lines(), plan.refused);
  plan.workspace = strassen::products * program.inputs() * program.outputs();
  plan.sets = true;
  plan.run = [products, sums](CoreGroup& group, const ConvolutionArguments& arg, float* workspace) {
    launch(group, products, [&](auto& p) { p.x.x = arg.x_as<float>(), p.dy.x = arg.dy_as<float>(), p.to = workspace; });
    launch(group, sums, [&](auto& p) { p.from = workspace, p.dw = arg.out_as<float>(), p.sets = arg.sets; });
  };
}

std::string refuse(const MachineSpec& spec, const ConvolutionShape& s) {
  if (!spec.works_from_caches())
    return "keeps sums of activations where a cache holds them: written for cores with caches";
  if (s.precision != Precision::fp32) return "is for single precision";
  if (!s.is_pointwise() || s.g > 1) return "is for kernels of one pixel, at stride 1, in one group";
  if (s.src != Layout::nchw16c || s.dst != Layout::nchw16c) return "takes blocks of channels, not planes";
  constexpr i64 whole = 2 * StrassenPanels::panel;
  if (s.ic % whole == 0 && s.oc % whole == 0) return "";
  return "parts inputs and outputs in halves of whole panels: takes multiples of " + std::to_string(whole);
}

}  // namespace

ConvolutionPlan plan_strassen(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) {
  const MachineSpec& spec = group.spec();
  ConvolutionPlan plan;
  plan.refused = refuse(spec, shape);
  if (!plan.refused.empty()) return plan;
  if (direction == ConvolutionDirection::weight_gradient)
    plan_gradient(spec, shape, plan);
  else
    plan_forward(spec, shape, direction, plan);
  return plan;
}

bool strassen_pays(const MachineSpec&, const ConvolutionShape& s, ConvolutionDirection direction) {
  const i64 channels = std::min(s.ic, s.oc), pixels = s.mb * s.pixels();
  return direction == ConvolutionDirection::weight_gradient
             ? channels >= 256 && channels * pixels >= 256 * 2 * pixels_of_terms
             : channels >= 128 && pixels >= 4 * pixels_of_outputs;
}

}  // namespace cortado
