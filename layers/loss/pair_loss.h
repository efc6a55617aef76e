#pragma once
#include "core/machine/launch_elementwise.h"
#include "layers/loss/loss.h"
#include "layers/loss/programs.h"

namespace cortado {

/// The sum of f over pairs of elements of a and b, and the number of pairs that count. Waits for the cluster.
template <class F>
std::vector<double> pair_loss(CoreGroup& group, F f, const Blob& a, const Blob& b, Workspace& workspace) {
  const RowLines s{1, a.count(), line_elements(group.spec(), a.count(), 5)};
  float* const partial = workspace.floats(2 * s.lines());
  PlanBuilder book(group.spec());
  const PairLoss<F> program{f, reads(book, "a", a.data(), s), reads(book, "b", b.data(), s),
                            writes(book, "sums", partial, RowLines::whole(s.lines(), 2))};
  group.launch(program, book.plan(s.lines()));
  return sum_over_lines(group, partial, s.lines(), 2);
}

/// Queues da = factor times loss's gradient times f'(a, b).
template <class F>
void pair_loss_gradient(CoreGroup& group, F f, const Blob& a, const Blob& b, const Blob& loss, float factor,
                        float* da) {
  elementwise(group, a.count(), PairLossGradient<F>{f, factor}, from(a.data(), b.data(), one(loss.diff())), to(da));
}

/// The sum of f over rows of scores with a label each. Waits for the cluster.
template <class F>
double label_loss(CoreGroup& group, F f, i64 rows, const Blob& x, const Blob& labels, Workspace& workspace) {
  const i64 width = rows > 0 ? x.count() / rows : 0;
  const RowLines s{rows, width, line_elements(group.spec(), width, 3)};
  float* const partial = workspace.floats(s.lines());
  PlanBuilder book(group.spec());
  const LabelLoss<F> program{f, reads(book, "scores", x.data(), s), reads(book, "label", labels.data(), RowValues{s}),
                             writes(book, "sum", partial, RowLines::whole(s.lines()))};
  group.launch(program, book.plan(s.lines()));
  return sum_over_lines(group, partial, s.lines(), 1)[0];
}

/// Queues dx = factor times loss's gradient times f'.
template <class F>
void label_loss_gradient(CoreGroup& group, F f, i64 rows, Blob& x, const Blob& labels, const Blob& loss, float factor) {
  const i64 width = rows > 0 ? x.count() / rows : 0;
  elementwise(group, rows, width, LabelLossGradient<F>{f, factor},
              from(x.data(), Columns{}, per_row(labels.data(), rows), one(loss.diff())), to(x.mutable_diff()));
}

}  // namespace cortado
