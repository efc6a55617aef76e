#include "layers/softmax/kernel.h"

#include <algorithm>

#include "layers/softmax/programs.h"

namespace cortado {
namespace {

/// Positions per line, so that `planes` blocks of all their classes fit beside a few lines of one value per position.
ClassPlanes planes_of(const MachineSpec& spec, const SoftmaxKernel& k, int planes) {
  constexpr int single_lines = 4;
  const i64 fit = spec.scratch_bytes / ((planes * k.classes + single_lines) * 4) / 32 * 32;
  return {k.outer, k.classes, k.inner, std::max<i64>(1, std::min(k.inner, fit))};
}

struct Booking {
  PlanBuilder builder;
  const ClassPlanes& s;
  Buf plane(const char* name, int slots) { return builder.line<float>(name, s.classes * s.block, slots); }
  Buf single(const char* name, int slots) { return builder.line<float>(name, s.block, slots); }
};

}  // namespace

void SoftmaxKernel::forward(CoreGroup& group, const float* x, float* y, float* workspace) const {
  if (inner == 1) {
    PlanBuilder book(group.spec());
    const Buf x_buf = book.line<float>("x", classes, Depth::two), y_buf = book.line<float>("y", classes, 1);
    return group.launch(SoftmaxRows{x, y, outer, classes, x_buf, y_buf}, book.plan(outer));
  }
  float *const top = workspace, *const sum = workspace + positions();
  const ClassPlanes s = planes_of(group.spec(), *this, 3);
  Booking first{PlanBuilder(group.spec()), s};
  SoftmaxStatistics statistics{s, x, top, sum, first.plane("x", 2), first.single("top", 1), first.single("sum", 1)};
  group.launch(statistics, first.builder.plan(s.lines()));
  Booking second{PlanBuilder(group.spec()), s};
  SoftmaxApply apply{
      s, x, top, sum, y, second.plane("x", 2), second.single("top", 2), second.single("sum", 2), second.plane("y", 1)};
  group.launch(apply, second.builder.plan(s.lines()));
}

void SoftmaxKernel::backward(CoreGroup& group, const float* y, const float* dy, float* dx, float* workspace) const {
  if (inner == 1) {
    PlanBuilder book(group.spec());
    const Buf y_buf = book.line<float>("y", classes, Depth::two), dy_buf = book.line<float>("dy", classes, Depth::two);
    const Buf dx_buf = book.line<float>("dx", classes, 1);
    return group.launch(SoftmaxRowsBackward{y, dy, dx, outer, classes, y_buf, dy_buf, dx_buf}, book.plan(outer));
  }
  const ClassPlanes s = planes_of(group.spec(), *this, 5);
  Booking first{PlanBuilder(group.spec()), s};
  SoftmaxDot dot{s, y, dy, workspace, first.plane("y", 2), first.plane("dy", 2), first.single("dot", 1)};
  group.launch(dot, first.builder.plan(s.lines()));
  Booking second{PlanBuilder(group.spec()), s};
  SoftmaxApplyBackward apply{s,
                             y,
                             dy,
                             workspace,
                             dx,
                             second.plane("y", 2),
                             second.plane("dy", 2),
                             second.single("dot", 2),
                             second.plane("dx", 1)};
  group.launch(apply, second.builder.plan(s.lines()));
}

}  // namespace cortado
