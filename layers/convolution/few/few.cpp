#include "layers/convolution/few/few.h"

#include <algorithm>

#include "core/machine/integers.h"
#include "core/machine/planned.h"
#include "layers/convolution/few/programs.h"
#include "layers/convolution/planning.h"
#include "layers/gemm/gemm.h"

namespace cortado {

namespace {
/// Values of a group's padded rows under a band.
i64 padded(const FewBands& cut) {
  return cut.from_channels * cut.down.places(cut.band) * cut.across.places(cut.across.written);
}
/// Values of a group's source rows under a band: places further apart than sources, but for one at an end.
i64 sources(const FewBands& cut) {
  const i64 rows = std::min(cut.down.source, cut.down.places(cut.band) / cut.down.put + 1);
  return cut.from_channels * rows * cut.across.source;
}
}  // namespace

template <bool forward>
static void book(FewChannels<forward>& p, PlanBuilder& builder) {
  p.from_buf = builder.line<float>("values", sources(p.cut), Depth::two);
  p.w_buf = builder.line<float>("weights", p.weights(), Depth::two);
  p.padded_buf = builder.tile<float>("padded values", padded(p.cut), 1);
  p.to_buf = builder.line<float>("results", p.cut.to_channels * p.cut.band * p.cut.across.written, 2);
}

static void book(FewChannelsWeightGradient& p, PlanBuilder& builder) {
  p.x_buf = builder.line<float>("inputs", sources(p.cut), Depth::two);
  p.dy_buf =
      builder.line<float>("gradients of outputs", p.cut.to_channels * p.cut.band * p.cut.across.written, Depth::two);
  p.padded_buf = builder.tile<float>("padded inputs", padded(p.cut), 1);
  p.sums_buf = builder.line<float>("sums", p.weights(), 1);
}

namespace {

constexpr i64 most_channels = 8;

FewBands bands_of_outputs(const ConvolutionShape& s) {
  return {s.mb,
          s.g,
          s.group_ic(),
          s.group_oc(),
          {s.ih, s.oh, s.kh, s.dh, s.ph, 1, s.sh},
          {s.iw, s.ow, s.kw, s.dw, s.pw, 1, s.sw},
          s.oh};
}

/// Of inputs, each of which reads gradients that lie a stride apart, behind as much padding as the kernel leaves.
FewBands bands_of_inputs(const ConvolutionShape& s) {
  return {s.mb,
          s.g,
          s.group_oc(),
          s.group_ic(),
          {s.oh, s.ih, s.kh, s.dh, (s.kh - 1) * s.dh - s.ph, s.sh, 1},
          {s.ow, s.iw, s.kw, s.dw, (s.kw - 1) * s.dw - s.pw, s.sw, 1},
          s.ih};
}

/// The largest band whose buffers fit, with a line or more for each CPE if there are rows enough.
template <class Program>
void choose_band(const MachineSpec& spec, Program& program) {
  FewBands& cut = program.cut;
  const i64 height = cut.down.written, others = cut.images * cut.groups;
  cut.band = ceil_div(height, std::min(height, ceil_div(i64{2} * spec.cpes, others)));
  shrink(cut.band, height, [&] { return !fits(spec, program); });
}

template <bool forward>
void plan_sums(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionPlan& plan) {
  FewChannels<forward> program{};
  program.cut = forward ? bands_of_outputs(s) : bands_of_inputs(s);
  choose_band(spec, program);
  plan.run = [sums = planned(spec, program, program.cut.lines(), plan.refused)](
                 CoreGroup& group, const ConvolutionArguments& arg, float*) {
    launch(group, sums, [&](auto& p) {
      p.from = forward ? arg.x_as<float>() : arg.dy_as<float>(), p.w = arg.w, p.to = arg.out_as<float>();
    });
  };
}

void plan_weight_gradient(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionPlan& plan) {
  FewChannelsWeightGradient program{};
  program.cut = bands_of_outputs(s);
  choose_band(spec, program);
  const i64 items = s.mb * program.cut.bands(), weights = s.oc * s.terms();
  program.shares = std::min(items, ceil_div(i64{2} * spec.cpes, s.g));
  plan.workspace = program.shares * weights;
  plan.run = [products = planned(spec, program, program.shares * s.g, plan.refused), shares = program.shares, weights](
                 CoreGroup& group, const ConvolutionArguments& arg, float* workspace) {
    launch(group, products, [&](auto& p) { p.x = arg.x_as<float>(), p.dy = arg.dy_as<float>(), p.sums = workspace; });
    sum_columns(group, workspace, shares, weights, arg.out_as<float>());
  };
}

std::string refuse(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionDirection direction) {
  if (const std::string reason = refuse_storage(s); !reason.empty()) return reason;
  if (!spec.lines_in_scratch) return "works out of scratchpads";
  if (s.g == 1 || std::max(s.group_ic(), s.group_oc()) > most_channels)
    return "is for groups of up to " + std::to_string(most_channels) + " channels";
  const bool reaches = s.ph <= (s.kh - 1) * s.dh && s.pw <= (s.kw - 1) * s.dw;
  return reaches || direction != ConvolutionDirection::input_gradient ? ""
                                                                      : "knows no padding beyond the kernel's reach";
}

}  // namespace

ConvolutionPlan plan_few_channels(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) {
  ConvolutionPlan plan;
  const MachineSpec& spec = group.spec();
  plan.refused = refuse(spec, shape, direction);
  if (!plan.refused.empty()) return plan;
  switch (direction) {
    case ConvolutionDirection::forward: plan_sums<true>(spec, shape, plan); break;
    case ConvolutionDirection::input_gradient: plan_sums<false>(spec, shape, plan); break;
    case ConvolutionDirection::weight_gradient: plan_weight_gradient(spec, shape, plan); break;
  }
  return plan;
}

}  // namespace cortado
