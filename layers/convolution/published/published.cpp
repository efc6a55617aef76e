#include "layers/convolution/published/published.h"

#include <algorithm>

#include "core/machine/integers.h"
#include "core/machine/planned.h"
#include "layers/convolution/published/programs.h"
#include "layers/gemm/gemm.h"
#include "layers/transform/transform.h"

namespace cortado {

static void book(PublishedImplicit& p, PlanBuilder& builder) {
  p.x_buf = builder.operand<float>("pixels", p.tile_k * p.tile_n, Depth::one, false, false);
  p.w_buf = builder.operand<float>("weights", p.tile_m * p.tile_k, Depth::one, false, false);
  p.acc_buf = builder.tile<float>("sums", p.columns * p.tile_m * p.tile_n, 1);
}

namespace {

/// The product that a direction is: forward and the input gradient sum over channels, with the batch as columns; the
/// weight gradient sums over the batch, with input channels in the batch's place and the output's size as the kernel's.
PublishedImplicit product_of(const ConvolutionShape& s, ConvolutionDirection direction) {
  PublishedImplicit p{};
  PublishedSizes& sizes = p;
  switch (direction) {
    case ConvolutionDirection::forward:
      sizes = {s.ih, s.iw, s.kh, s.kw, s.oh, s.ow, s.ph, s.pw, s.oc, s.mb, s.ic, false};
      break;
    case ConvolutionDirection::weight_gradient:
      sizes = {s.ih, s.iw, s.oh, s.ow, s.kh, s.kw, s.ph, s.pw, s.oc, s.ic, s.mb, false};
      break;
    case ConvolutionDirection::input_gradient:
      sizes = {s.oh, s.ow, s.kh, s.kw, s.ih, s.iw, s.kh - 1 - s.ph, s.kw - 1 - s.pw, s.ic, s.mb, s.oc, true};
      break;
  }
  return p;
}

/// Columns of output that the published plan keeps: what 60 KB of every CPE (55 KB in backward) hold as doubles beside
/// one tile of inputs and one of weights.
void choose_tiles(const MachineSpec& spec, PublishedImplicit& p, ConvolutionDirection direction) {
  p.tile_m = ceil_div(p.m, spec.mesh_rows), p.tile_n = ceil_div(p.n, spec.mesh_cols);
  p.tile_k = ceil_div(p.k, spec.mesh_cols);
  const i64 kilobytes = direction == ConvolutionDirection::forward ? 60 : 55;
  const i64 doubles = i64{spec.mesh_rows} * spec.mesh_cols * kilobytes * 1024 / 8;
  p.columns = std::min(p.ow, std::max<i64>(1, (doubles - p.k * p.n - p.k * p.m) / (p.m * p.n)));
}

std::string refuse(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionDirection direction) {
  if (const std::string reason = refuse_storage(s); !reason.empty()) return reason;
  if (!spec.lines_in_scratch || spec.mesh_cols == 1) return "it is a plan for meshes that work out of scratchpads";
  if (s.g > 1 || s.dh > 1 || s.dw > 1 || s.sh > 1 || s.sw > 1) return "it knows no stride, dilation or group";
  if (s.ph >= s.kh || s.pw >= s.kw) return "it knows no padding as wide as the kernel";
  const i64 least = direction == ConvolutionDirection::forward ? 64 : 128;
  if (std::min(s.ic, s.oc) >= least) return "";
  return "it wants at least " + std::to_string(least) + " input and output channels here";
}

/// Workspace: inputs, weights and results in the published layouts, and weight gradients in ours.
struct Places {
  explicit Places(const ConvolutionShape& s)
      : src(s.mb * s.src_image()), dst(s.mb * s.dst_image()), weights(s.oc * s.terms()) {}
  i64 src, dst, weights;
};

void run(CoreGroup& group, const Planned<PublishedImplicit>& product, const ConvolutionShape& s,
         ConvolutionDirection direction, const ConvolutionArguments& arg, float* workspace) {
  const Places floats(s);
  float *const src = workspace, *const dst = src + floats.src, *const weights = dst + floats.dst,
               *const sums = weights + floats.weights;
  const Shape src_shape = {s.mb, s.ic, s.ih, s.iw}, dst_shape = {s.mb, s.oc, s.oh, s.ow},
              weight_rows = {s.oc * s.ic, 1, s.kh, s.kw};
  const auto batch_innermost = [&](const Shape& shape, const float* from, float* to) {
    transform(group, Layout::nchw, Layout::hwcn, shape, from, to);
  };
  const auto multiply = [&](const float* x, const float* w, float* y) {
    launch(group, product, [&](auto& p) { p.x = x, p.w = w, p.y = y; });
  };
  switch (direction) {
    case ConvolutionDirection::forward:
      batch_innermost(src_shape, arg.x_as<float>(), src);
      batch_innermost(weight_rows, arg.w, weights);
      multiply(src, weights, dst);
      return transform(group, Layout::hwcn, Layout::nchw, dst_shape, dst, arg.out_as<float>());
    case ConvolutionDirection::weight_gradient:
      batch_innermost({s.mb * s.ic, 1, s.ih, s.iw}, arg.x_as<float>(), src);
      batch_innermost(dst_shape, arg.dy_as<float>(), dst);
      multiply(src, dst, weights);
      transform(group, Layout::hwcn, Layout::nchw, weight_rows, weights, sums);
      return sum_columns(group, sums, 1, floats.weights, arg.out_as<float>());
    case ConvolutionDirection::input_gradient:
      batch_innermost(dst_shape, arg.dy_as<float>(), dst);
      batch_innermost({s.oc, s.ic, s.kh, s.kw}, arg.w, weights);
      multiply(dst, weights, src);
      return transform(group, Layout::hwcn, Layout::nchw, src_shape, src, arg.out_as<float>());
  }
}

}  // namespace

ConvolutionPlan plan_published_implicit(CoreGroup& group, const ConvolutionShape& s, ConvolutionDirection direction) {
  ConvolutionPlan plan;
  plan.refused = refuse(group.spec(), s, direction);
  if (!plan.refused.empty()) return plan;
  PublishedImplicit program = product_of(s, direction);
  choose_tiles(group.spec(), program, direction);
  const auto product = planned(group.spec(), program, 0, plan.refused);
  const Places floats(s);
  plan.workspace = floats.src + floats.dst + 2 * floats.weights;
  plan.run = [product, s, direction](CoreGroup& on, const ConvolutionArguments& arg, float* workspace) {
    run(on, product, s, direction, arg, workspace);
  };
  return plan;
}

}  // namespace cortado
