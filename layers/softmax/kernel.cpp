#include "layers/softmax/kernel.h"

#include <algorithm>

#include "layers/softmax/programs.h"

namespace cortado {
namespace {

/// Lines of so many positions that `planes` blocks of all their classes fit beside a few lines of one value per
/// position.
ClassPlanes planes_of(const MachineSpec& spec, const SoftmaxKernel& k, int planes) {
  constexpr int single_lines = 4;
  const i64 fit = spec.scratch_bytes / ((planes * k.classes + single_lines) * 4) / 32 * 32;
  return {{k.outer, k.inner, std::max<i64>(1, std::min(k.inner, fit))}, k.classes};
}

}  // namespace

void SoftmaxKernel::forward(CoreGroup& group, const float* x, float* y, float* workspace) const {
  PlanBuilder book(group.spec());
  if (inner == 1) {
    const RowLines rows = RowLines::whole(outer, classes);
    const SoftmaxRows p{reads(book, "x", x, rows), writes(book, "y", y, rows)};
    return group.launch(p, book.plan(outer));
  }
  float *const top = workspace, *const sum = workspace + positions();
  const ClassPlanes s = planes_of(group.spec(), *this, 3);
  const SoftmaxStatistics statistics{reads(book, "x", x, s), writes(book, "top", top, s.positions),
                                     writes(book, "sum", sum, s.positions)};
  group.launch(statistics, book.plan(s.lines()));
  PlanBuilder second(group.spec());
  const SoftmaxApply apply{reads(second, "x", x, s), reads(second, "top", top, s.positions),
                           reads(second, "sum", sum, s.positions), writes(second, "y", y, s)};
  group.launch(apply, second.plan(s.lines()));
}

void SoftmaxKernel::backward(CoreGroup& group, const float* y, const float* dy, float* dx, float* workspace) const {
  PlanBuilder book(group.spec());
  if (inner == 1) {
    const RowLines rows = RowLines::whole(outer, classes);
    const SoftmaxRowsBackward p{reads(book, "y", y, rows), reads(book, "dy", dy, rows), writes(book, "dx", dx, rows)};
    return group.launch(p, book.plan(outer));
  }
  const ClassPlanes s = planes_of(group.spec(), *this, 5);
  const SoftmaxDot dot{reads(book, "y", y, s), reads(book, "dy", dy, s), writes(book, "dot", workspace, s.positions)};
  group.launch(dot, book.plan(s.lines()));
  PlanBuilder second(group.spec());
  const SoftmaxApplyBackward apply{reads(second, "y", y, s), reads(second, "dy", dy, s),
                                   reads(second, "dot", workspace, s.positions), writes(second, "dx", dx, s)};
  group.launch(apply, second.plan(s.lines()));
}

}  // namespace cortado
