#include "layers/convolution/depthwise/depthwise.h"

#include <algorithm>

#include "core/machine/integers.h"
#include "core/machine/planned.h"
#include "layers/convolution/depthwise/programs.h"
#include "layers/convolution/planning.h"

namespace cortado {
namespace {

/// A band's buffers stay in a cache near the core.
constexpr i64 near_bytes = 128 * 1024;

}  // namespace

template <bool forward, class T>
static void book(DepthwiseSum<forward, T>& p, PlanBuilder& builder) {
  // A band may begin anywhere between two strides, hence one row more than its length suggests.
  const i64 rows = p.rows_read(0, p.cut.band).count() + (forward ? 0 : 1);
  p.from_buf = builder.tile<T>("values", rows * p.cols_read().count() * block_channels, 1);
  p.w_buf = builder.tile<float>("weights", p.s.kh * p.s.kw * block_channels, 1);
  p.to_buf = book_out_lanes<T>(builder, forward ? p.s.dst : p.s.src, "results", p.cut.band * p.width());
  p.sums_buf = builder.line<float>("sums of outputs", 2 * block_channels, 1);
}

template <class T>
static void book(DepthwiseWeightGradient<T>& p, PlanBuilder& builder) {
  p.x_buf = builder.tile<T>("inputs", p.rows_read() * p.s.cols_under(p.s.ow) * block_channels, 1);
  p.dy_buf = builder.tile<T>("gradients of outputs", p.cut.band * p.s.ow * block_channels, 1);
  p.sums_buf = builder.line<float>("sums", p.s.kh * p.s.kw * block_channels, 1);
}

static void book(DepthwiseGradientSums& p, PlanBuilder& builder) {
  p.sums_buf = builder.line<float>("sums of a share", p.taps * block_channels, 1);
  p.old_buf = builder.tile<float>("gradients of weights", p.taps * block_channels, 1);
  p.dw_buf = builder.tile<float>("new gradients of weights", p.taps * block_channels, 1);
}

namespace {

/// The largest band whose buffers stay near the core, with enough lines for all CPEs.
template <class Program>
void choose_band(const MachineSpec& spec, Program& p, i64 height, i64 others) {
  MachineSpec near = spec;
  near.scratch_bytes = std::min(spec.scratch_bytes, near_bytes);
  near.lines_in_scratch = true;
  p.cut.height = height;
  p.cut.band = ceil_div(height, std::min(height, ceil_div(i64{2} * spec.cpes, others)));
  shrink(p.cut.band, height, [&] { return !fits(near, p); });
}

template <bool forward, class T>
void plan_sum(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionPlan& plan) {
  DepthwiseSum<forward, T> program{};
  program.s = s.sizes(s.mb);
  program.cut = {s.mb, s.ic, 1, 1};
  choose_band(spec, program, program.height(), s.mb * program.cut.blocks());
  if (forward && s.dst == Layout::nchw16c) plan.partial_sums = s.mb * program.cut.bands();
  plan.run = [made = planned(spec, program, program.cut.lines(), plan.refused)](
                 CoreGroup& group, const ConvolutionArguments& arg, float*) {
    launch(group, made, [&](auto& p) {
      p.from = forward ? arg.x_as<T>() : arg.dy_as<T>(), p.w = arg.w, p.to = arg.out_as<T>(), p.sums = arg.sums;
    });
  };
}

template <class T>
void plan_weight_gradient(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionPlan& plan) {
  DepthwiseWeightGradient<T> program{};
  program.s = s.sizes(s.mb);
  program.cut = {s.mb, s.ic, 1, 1};
  choose_band(spec, program, s.oh, s.mb * program.cut.blocks());
  const i64 items = s.mb * program.cut.bands(), blocks = program.cut.blocks();
  program.shares = std::min(items, ceil_div(i64{4} * spec.cpes, blocks));
  DepthwiseGradientSums sums{};
  sums.channels = s.ic, sums.taps = s.kh * s.kw, sums.shares = program.shares;
  plan.workspace = program.shares * blocks * sums.taps * block_channels;
  plan.sets = true;
  plan.run = [products = planned(spec, program, program.shares * blocks, plan.refused),
              total = planned(spec, sums, blocks, plan.refused)](CoreGroup& group, const ConvolutionArguments& arg,
                                                                 float* workspace) {
    launch(group, products, [&](auto& p) { p.x = arg.x_as<T>(), p.dy = arg.dy_as<T>(), p.sums = workspace; });
    launch(group, total, [&](auto& p) { p.sets = arg.sets, p.sums = workspace, p.dw = arg.out_as<float>(); });
  };
}

}  // namespace

ConvolutionPlan plan_depthwise(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) {
  ConvolutionPlan plan;
  if (shape.g != shape.ic || shape.g != shape.oc) {
    plan.refused = "is for one input and one output channel per group";
    return plan;
  }
  const MachineSpec& spec = group.spec();
  with_element(shape.precision, [&](auto element) {
    using T = decltype(element);
    switch (direction) {
      case ConvolutionDirection::forward: plan_sum<true, T>(spec, shape, plan); break;
      case ConvolutionDirection::input_gradient: plan_sum<false, T>(spec, shape, plan); break;
      case ConvolutionDirection::weight_gradient: plan_weight_gradient<T>(spec, shape, plan); break;
    }
  });
  return plan;
}

}  // namespace cortado
