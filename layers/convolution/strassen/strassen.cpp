#include <algorithm>

#include "core/machine/parts.h"
#include "layers/convolution/candidates.h"
#include "layers/convolution/strassen/programs.h"

namespace cortado {
namespace {

/// Pixels of a half, at most: outputs of a panel for so many stay in a first-level cache until they join others; in a
/// weight gradient they are terms, summed between loads of sums.
constexpr i64 pixels_of_outputs = 112, pixels_of_terms = 224;
constexpr i64 blocks_of_slice = 16;  ///< of channels, whose sums of quadrants stay in a second-level cache

/// One level of Strassen's algorithm for kernels of one pixel on blobs in blocks: halves of the inputs, of the outputs
/// and of neighbouring pixels make quadrants. Forward and the input gradient make sums of quadrants of activations in
/// the cache, those of weights once, when they are packed; products of the weight gradient join when all pixels are
/// summed. Errors: docs/design/cpu.md.
class StrassenConvolution : public ConvolutionCandidate {
 public:
  std::string name() const override { return "strassen"; }
  std::string refuse(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  bool pays(const MachineSpec& spec, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  bool takes_blocks() const override { return true; }
  i64 workspace(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  i64 kept_weights(CoreGroup& group, const ConvolutionShape& shape) const override {
    return workspace(group, shape, ConvolutionDirection::forward);
  }
  i64 sum_parts(CoreGroup& group, const ConvolutionShape& shape) const override;
  bool joins(CoreGroup& group, const ConvolutionShape& shape) const override;
  bool sets_weights(const ConvolutionShape&) const override { return true; }
  void run(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
           const ConvolutionArguments& arguments, float* workspace) const override;
};

StrassenPixels pixels_of(i64 images, i64 channels, i64 plane, i64 most) {
  StrassenPixels p{};
  p.all_images = images, p.channels = channels, p.plane = plane;
  p.cols = even_part(plane, most);
  p.images = p.cols < plane ? 1 : std::clamp<i64>(most / plane, 1, ceil_div(images, i64{2}));
  return p;
}

/// `blocks`: of channels, that are multiplied together, in `sums` sums of as many of `quadrants` quadrants at a time.
void book(StrassenPixels& p, i64 blocks, i64 sums, int quadrants, PlanBuilder& book) {
  const i64 bytes = 4 * p.pixels() * blocks * block_channels;
  for (Buf& quadrant : p.quadrant_buf) quadrant = book.spill("quadrant", bytes);
  p.sum_buf = book.spill("sums of quadrants", sums * bytes);
  p.line_buf = book.line("pixels", 4 * p.cols * block_channels, 2 * quadrants);
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

void book(StrassenForward& p, PlanBuilder& builder) {
  book(p.in, p.slice, strassen::right_sums, 4, builder);
  p.w_buf = builder.spill("weights", 4 * p.slice * block_channels * p.panels.panel);
  p.product_buf = builder.tile("product", 4 * p.in.pixels() * p.panels.panel, 1);
  p.acc_buf = builder.spill("sums", 4 * p.kept_panels() * p.panel_rows() * block_channels);
  p.y_buf = builder.line("outputs", 4 * p.in.cols * block_channels, 1);
  p.sums_buf = builder.line("sums of outputs", 8 * block_channels, 1);
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

void book(StrassenGradient& p, PlanBuilder& builder) {
  book(p.x, p.in_slice, 1, 2, builder);
  book(p.dy, p.out_slice, 1, 2, builder);
  p.acc_buf = builder.spill("sums", 4 * p.in_slice * p.out_slice * block_channels * block_channels);
}

void book(StrassenWeights& p, PlanBuilder& builder) {
  const i64 bytes = 4 * StrassenPanels::line * StrassenPanels::panel;
  for (Buf& from : p.from_buf) from = builder.tile("quadrant", bytes, 1);
  p.to_buf = builder.tile("packed", bytes, 1);
}

void book(StrassenGradientSums& p, PlanBuilder& builder) {
  for (Buf& from : p.from_buf) from = builder.line("product", 4 * p.rows * p.cols, 1);
  book(p.to, p.cols, builder);
}

/// Calls make(most pixels of a half) with `most`, or less until the program fits a scratchpad.
template <class Make>
auto fitting(const MachineSpec& spec, i64 most, Make make) {
  for (;; most /= 2) {
    auto program = make(most);
    PlanBuilder builder(spec);
    book(program, builder);
    if (builder.fits() || most == 1) return program;
  }
}
StrassenForward forward_program(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionDirection direction) {
  return fitting(spec, pixels_of_outputs, [&](i64 most) { return forward_program(spec, s, direction, most); });
}
StrassenGradient gradient_program(const MachineSpec& spec, const ConvolutionShape& s) {
  return fitting(spec, pixels_of_terms, [&](i64 most) { return gradient_program(spec, s, most); });
}

/// Empty if the programs fit a scratchpad, each by itself; else the reason.
template <class... Programs>
std::string refuse_programs(const MachineSpec& spec, Programs... programs) {
  std::string reason;
  const auto ask = [&](auto& program) {
    PlanBuilder builder(spec);
    book(program, builder);
    if (reason.empty() && !builder.fits()) reason = builder.reason();
  };
  (ask(programs), ...);
  return reason;
}

std::string StrassenConvolution::refuse(CoreGroup& group, const ConvolutionShape& s,
                                        ConvolutionDirection direction) const {
  if (!group.spec().works_from_caches())
    return "keeps sums of activations where a cache holds them: written for cores with caches";
  if (s.precision != Precision::fp32) return "is for single precision";
  if (!s.is_pointwise() || s.g > 1) return "is for kernels of one pixel, at stride 1, in one group";
  if (s.src != Layout::nchw16c || s.dst != Layout::nchw16c) return "takes blocks of channels, not planes";
  constexpr i64 whole = 2 * StrassenPanels::panel;
  if (s.ic % whole != 0 || s.oc % whole != 0)
    return "parts inputs and outputs in halves of whole panels: takes multiples of " + std::to_string(whole);
  const MachineSpec& spec = group.spec();
  if (direction == ConvolutionDirection::weight_gradient)
    return refuse_programs(spec, gradient_program(spec, s), StrassenGradientSums{});
  return refuse_programs(spec, forward_program(spec, s, direction), StrassenWeights{});
}

/// Sums of quadrants take time with the channels, products with their square; halves of pixels are to be full. Of a
/// weight gradient pixels are terms: fewer will do where there are more channels.
bool StrassenConvolution::pays(const MachineSpec&, const ConvolutionShape& s, ConvolutionDirection direction) const {
  const i64 channels = std::min(s.ic, s.oc), pixels = s.mb * s.pixels();
  return direction == ConvolutionDirection::weight_gradient
             ? channels >= 256 && channels * pixels >= 256 * 2 * pixels_of_terms
             : channels >= 128 && pixels >= 4 * pixels_of_outputs;
}

i64 StrassenConvolution::workspace(CoreGroup& group, const ConvolutionShape& s, ConvolutionDirection direction) const {
  if (direction == ConvolutionDirection::weight_gradient) {
    const StrassenGradient p = gradient_program(group.spec(), s);
    return strassen::products * p.inputs() * p.outputs();
  }
  return forward_program(group.spec(), s, direction).panels.floats();
}

i64 StrassenConvolution::sum_parts(CoreGroup& group, const ConvolutionShape& s) const {
  return forward_program(group.spec(), s, ConvolutionDirection::forward).in.pairs();
}

bool StrassenConvolution::joins(CoreGroup& group, const ConvolutionShape& s) const {
  StrassenForward p = forward_program(group.spec(), s, ConvolutionDirection::input_gradient);
  PlanBuilder builder(group.spec());
  book(p, builder);
  book(p.other, p.in.cols, builder);
  return builder.fits();
}

void pack(CoreGroup& group, const StrassenPanels& panels, const float* w, i64 output_pitch, i64 term_pitch, float* to) {
  StrassenWeights p{w, output_pitch, term_pitch, to, panels, {}, {}};
  PlanBuilder builder(group.spec());
  book(p, builder);
  group.launch(p, builder.plan(p.lines()));
}

void run_forward(CoreGroup& group, const ConvolutionShape& s, ConvolutionDirection direction,
                 const ConvolutionArguments& arg, float* workspace) {
  const bool turned = direction == ConvolutionDirection::input_gradient;
  StrassenForward p = forward_program(group.spec(), s, direction);
  float* const packed = arg.kept != nullptr ? arg.kept : workspace;
  if (!arg.are_kept) pack(group, p.panels, arg.w, turned ? 1 : s.ic, turned ? s.ic : 1, packed);
  p.in.x = turned ? arg.dy_as<float>() : arg.x_as<float>();
  p.w = packed, p.y = arg.out_as<float>(), p.sums = arg.sums;
  if (turned) p.other = arg.other_as<float>();
  PlanBuilder builder(group.spec());
  book(p, builder);
  if (p.other.values != nullptr) book(p.other, p.in.cols, builder);
  group.launch(p, builder.plan(p.tiles()));
}

void run_weight_gradient(CoreGroup& group, const ConvolutionShape& s, const ConvolutionArguments& arg,
                         float* workspace) {
  StrassenGradient p = gradient_program(group.spec(), s);
  p.x.x = arg.x_as<float>(), p.dy.x = arg.dy_as<float>(), p.to = workspace;
  PlanBuilder builder(group.spec());
  book(p, builder);
  group.launch(p, builder.plan(p.tiles()));

  StrassenGradientSums sums{workspace, arg.out_as<float>(), arg.sets, p.inputs(), p.outputs(), {}, {}};
  PlanBuilder of_sums(group.spec());
  book(sums, of_sums);
  group.launch(sums, of_sums.plan(sums.lines()));
}

void StrassenConvolution::run(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
                              const ConvolutionArguments& arguments, float* workspace) const {
  if (direction == ConvolutionDirection::weight_gradient)
    run_weight_gradient(group, shape, arguments, workspace);
  else
    run_forward(group, shape, direction, arguments, workspace);
}

}  // namespace

std::unique_ptr<ConvolutionCandidate> make_strassen_convolution() { return std::make_unique<StrassenConvolution>(); }

}  // namespace cortado
