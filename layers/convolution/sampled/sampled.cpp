#include "layers/convolution/sampled/sampled.h"

#include <utility>

#include "core/machine/integers.h"
#include "core/machine/planned.h"
#include "layers/convolution/direct/direct.h"
#include "layers/convolution/planning.h"
#include "layers/convolution/sampled/programs.h"
#include "layers/convolution/strassen/strassen.h"

namespace cortado {
namespace {

Samples samples_of(const ConvolutionShape& s, i64 channels) {
  return {s.mb * ceil_div(channels, block_channels), s.ih, s.iw, s.oh, s.ow, s.sh, s.sw};
}

ConvolutionShape at_stride_one(ConvolutionShape s) {
  s.ih = s.oh, s.iw = s.ow, s.sh = s.sw = 1;
  return s;
}

ConvolutionPlan plan_dense(CoreGroup& group, const ConvolutionShape& dense, ConvolutionDirection direction) {
  if (strassen_pays(group.spec(), dense, direction)) {
    ConvolutionPlan plan = plan_strassen(group, dense, direction);
    if (plan.refused.empty()) return plan;
  }
  return direct_convolution({})(group, dense, direction);
}

/// The plan's x becomes its samples.
template <class T>
void sample_before(const MachineSpec& spec, const Samples& samples, i64 floats, ConvolutionPlan& plan) {
  PlanBuilder book(spec);
  const SamplePixels<T> program{reads(book, "x", static_cast<const T*>(nullptr), SampledRows{samples}),
                                writes(book, "samples", static_cast<T*>(nullptr), DenseRows{samples}, Depth::two)};
  plan.run = [sample = planned(program, book, program.x.lines(), plan.refused), run = std::move(plan.run), floats](
                 CoreGroup& group, ConvolutionArguments arg, float* workspace) {
    launch(group, sample, [&](auto& p) { p.x.array = arg.x_as<T>(), p.y.array = reinterpret_cast<T*>(workspace); });
    arg.x = workspace;
    run(group, arg, workspace + floats);
  };
}

/// The plan's dx becomes that of samples, and is spread.
template <class T>
void spread_behind(const MachineSpec& spec, const Samples& samples, i64 floats, ConvolutionPlan& plan) {
  const auto make = [&](bool joins, PlanBuilder& builder) {
    SpreadPixels<T> program{};
    program.dy = reads(builder, "gradients of samples", static_cast<const T*>(nullptr), DenseRows{samples});
    program.dx_buf = builder.line<T>("gradients", samples.iw * block_channels, 2);
    if (joins) book(program.other, samples.iw, builder);
    return program;
  };
  PlanBuilder joining(spec), alone(spec);
  const SpreadPixels<T> joins = make(true, joining), writes = make(false, alone);
  plan.joins = joining.fits();
  const auto spread = plan.joins ? planned(joins, joining, joins.lines(), plan.refused)
                                 : planned(writes, alone, writes.lines(), plan.refused);
  plan.run = [spread, run = std::move(plan.run), floats](CoreGroup& group, const ConvolutionArguments& arg,
                                                         float* workspace) {
    ConvolutionArguments dense = arg;
    dense.out = workspace;
    dense.other = nullptr;
    run(group, dense, workspace + floats);
    launch(group, spread, [&](auto& p) {
      p.dy.array = reinterpret_cast<const T*>(workspace), p.dx = arg.out_as<T>();
      arg.join_to(p.other);
    });
  };
}

template <class T>
void wrap(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionDirection direction, ConvolutionPlan& plan) {
  const Samples samples = samples_of(s, s.ic);
  const i64 values = samples.blocks * s.pixels() * block_channels;
  const i64 floats = round_up(ceil_div(values * static_cast<i64>(sizeof(T)), i64{4}), i64{16});  // whole cache lines
  if (direction == ConvolutionDirection::input_gradient)
    spread_behind<T>(spec, samples, floats, plan);
  else
    sample_before<T>(spec, samples, floats, plan);
  plan.workspace += floats;
}

std::string why_not_sampled(const MachineSpec& spec, const ConvolutionShape& s) {
  if (!spec.works_from_caches()) return "is for machines with caches: others read pixels at strides as fast";
  if (s.kh > 1 || s.kw > 1 || s.ph > 0 || s.pw > 0 || (s.sh == 1 && s.sw == 1))
    return "is for kernels of one pixel at strides, without padding";
  if (s.src != Layout::nchw16c || s.dst != Layout::nchw16c) return "takes blocks of channels, not planes";
  return "";
}

}  // namespace

ConvolutionPlan plan_sampled(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) {
  ConvolutionPlan plan;
  plan.refused = why_not_sampled(group.spec(), shape);
  if (!plan.refused.empty()) return plan;
  plan = plan_dense(group, at_stride_one(shape), direction);
  if (!plan.refused.empty()) return plan;
  if (shape.precision == Precision::bf16)
    wrap<bf16>(group.spec(), shape, direction, plan);
  else
    wrap<float>(group.spec(), shape, direction, plan);
  return plan;
}

bool sampled_pays(const MachineSpec&, const ConvolutionShape& s, ConvolutionDirection) {
  return s.group_oc() >= 64 && s.group_ic() >= 64;
}

}  // namespace cortado
