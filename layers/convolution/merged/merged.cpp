#include "layers/convolution/merged/merged.h"

#include <algorithm>
#include <utility>

#include "core/machine/integers.h"
#include "core/machine/planned.h"
#include "layers/convolution/merged/programs.h"
#include "layers/convolution/planning.h"

namespace cortado {

static void book(SpreadGroups& p, PlanBuilder& builder) {
  p.from_buf = builder.line<float>("weights", p.at.width, Depth::two);
  p.to_buf = builder.line<float>("weights of merged groups", p.at.merged * p.at.width, 1);
}

static void book(GatherGroups& p, PlanBuilder& builder) {
  p.from_buf = builder.line<float>("gradients of merged groups", p.at.width, Depth::two);
  book(p.to, p.at.width, builder);
}

namespace {

/// Puts what spreads weights before the plan, unless that keeps weights which it packed.
void spread_before(const MachineSpec& spec, const MergedGroups& at, i64 floats, ConvolutionPlan& plan) {
  SpreadGroups program{};
  program.at = at;
  plan.run = [spread = planned(spec, program, at.rows, plan.refused), run = std::move(plan.run), floats,
              keeps = plan.kept_weights > 0](CoreGroup& group, ConvolutionArguments arg, float* workspace) {
    if (!keeps || !arg.are_kept) launch(group, spread, [&](auto& p) { p.from = arg.w, p.to = workspace; });
    arg.w = workspace;
    run(group, arg, workspace + floats);
  };
}

/// Puts what gathers the gradient behind the plan.
void gather_behind(const MachineSpec& spec, const MergedGroups& at, i64 floats, ConvolutionPlan& plan) {
  GatherGroups program{};
  program.at = at;
  const std::size_t zeros = plan.sets ? 0 : static_cast<std::size_t>(at.floats()) * sizeof(float);
  plan.run = [gather = planned(spec, program, at.rows, plan.refused), run = std::move(plan.run), floats, zeros](
                 CoreGroup& group, ConvolutionArguments arg, float* workspace) {
    float* const dw = arg.out_as<float>();
    const bool sets = std::exchange(arg.sets, true);
    arg.out = workspace;
    if (zeros > 0) group.zero(workspace, zeros);
    run(group, arg, workspace + floats);
    launch(group, gather, [&](auto& p) { p.from = workspace, p.dw = dw, p.sets = sets; });
  };
  plan.sets = true;
}

}  // namespace

i64 groups_to_merge(const ConvolutionShape& s) {
  const auto fills_blocks = [](Layout layout, i64 channels) { return channels % channel_block(layout) == 0; };
  if (s.in_planes()) {
    i64 merged = std::clamp<i64>(block_channels / std::max(s.group_ic(), s.group_oc()), 1, s.g);
    while (s.g % merged != 0) --merged;
    return merged;
  }
  i64 merged = 1;
  while (merged < s.g && (s.g % merged != 0 || !fills_blocks(s.src, merged * s.group_ic()) ||
                          !fills_blocks(s.dst, merged * s.group_oc())))
    ++merged;
  return merged;
}

ConvolutionPlan plan_merged(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
                            const ConvolutionCandidate::Planner& make) {
  const i64 merged = groups_to_merge(shape);
  if (merged == 1) return make(group, shape, direction);
  ConvolutionShape whole = shape;
  whole.g /= merged;
  ConvolutionPlan plan = make(group, whole, direction);
  if (!plan.refused.empty()) return plan;
  const MergedGroups at{shape.oc, shape.group_oc(), shape.terms(), merged};
  const i64 floats = round_up(at.floats(), i64{16});  // whole cache lines
  if (direction == ConvolutionDirection::weight_gradient)
    gather_behind(group.spec(), at, floats, plan);
  else
    spread_before(group.spec(), at, floats, plan);
  plan.workspace += floats;
  return plan;
}

}  // namespace cortado
