#pragma once
#include "core/machine/integers.h"
#include "layers/loss/loss.h"
#include "layers/loss/programs.h"

namespace cortado {

/// The sum of f over pairs of elements of a and b, and the number of pairs that count. Waits for the cluster.
template <class F>
std::vector<double> pair_loss(CoreGroup& group, F f, const Blob& a, const Blob& b, Workspace& workspace) {
  const i64 n = a.count(), block = line_elements(group.spec(), n, 5), lines = ceil_div(n, block);
  float* const partial = workspace.floats(2 * lines);
  PlanBuilder book(group.spec());
  const Buf a_buf = book.line("a", block * 4, Depth::two), b_buf = book.line("b", block * 4, Depth::two);
  const Buf sums = book.line("sums", 8, 1);
  group.launch(PairLoss<F>{f, a.data(), b.data(), partial, n, block, a_buf, b_buf, sums}, book.plan(lines));
  return sum_over_lines(group, partial, lines, 2);
}

/// Queues to = factor times loss's gradient times f'(a, b).
template <class F>
void pair_loss_gradient(CoreGroup& group, F f, const Blob& a, const Blob& b, const Blob& loss, float factor,
                        float* to) {
  const i64 n = a.count(), block = line_elements(group.spec(), n, 6);
  PlanBuilder book(group.spec());
  const Buf a_buf = book.line("a", block * 4, Depth::two), b_buf = book.line("b", block * 4, Depth::two);
  const Buf weight = book.line("weight", 4, 1), to_buf = book.line("gradient", block * 4, 1);
  group.launch(
      PairLossGradient<F>{f, a.data(), b.data(), loss.diff(), to, factor, n, block, a_buf, b_buf, weight, to_buf},
      book.plan(ceil_div(n, block)));
}

/// The sum of f over rows of scores with a label each. Waits for the cluster.
template <class F>
double label_loss(CoreGroup& group, F f, i64 rows, const Blob& x, const Blob& labels, Workspace& workspace) {
  const i64 width = rows > 0 ? x.count() / rows : 0;
  const LabelledRows s{rows, width, line_elements(group.spec(), width, 3)};
  float* const partial = workspace.floats(s.lines());
  PlanBuilder book(group.spec());
  const Buf x_buf = book.line("scores", s.block * 4, Depth::two), label = book.line("label", 4, Depth::two);
  const Buf sum = book.line("sum", 4, 1);
  group.launch(LabelLoss<F>{f, s, x.data(), labels.data(), partial, x_buf, label, sum}, book.plan(s.lines()));
  return sum_over_lines(group, partial, s.lines(), 1)[0];
}

/// Queues dx = factor times loss's gradient times f'.
template <class F>
void label_loss_gradient(CoreGroup& group, F f, i64 rows, Blob& x, const Blob& labels, const Blob& loss, float factor) {
  const i64 width = rows > 0 ? x.count() / rows : 0;
  const LabelledRows s{rows, width, line_elements(group.spec(), width, 4)};
  PlanBuilder book(group.spec());
  const Buf x_buf = book.line("scores", s.block * 4, Depth::two), label = book.line("label", 4, Depth::two);
  const Buf weight = book.line("weight", 4, 1), dx = book.line("gradient", s.block * 4, 1);
  group.launch(LabelLossGradient<F>{f, s, x.data(), labels.data(), loss.diff(), x.mutable_diff(), factor, x_buf, label,
                                    weight, dx},
               book.plan(s.lines()));
}

}  // namespace cortado
