#pragma once
#include "core/machine/core_group.h"
#include "core/machine/integers.h"
#include "layers/elementwise/programs.h"

namespace cortado {

/// Queues y = f(x) for n values; y may be x.
template <class F>
void map(CoreGroup& group, F f, const float* x, float* y, i64 n) {
  const i64 block = line_elements(group.spec(), n, 3);
  PlanBuilder book(group.spec());
  const Buf x_buf = book.line("x", block * 4, Depth::two), y_buf = book.line("y", block * 4, 1);
  group.launch(Map<F>{f, x, y, n, block, x_buf, y_buf}, book.plan(ceil_div(n, block)));
}

/// Queues dx = dy f' for n values, f' from v: f's value or argument, as F::from_output says. dx may be dy.
template <class F>
void map_gradient(CoreGroup& group, F f, const float* v, const float* dy, float* dx, i64 n) {
  const i64 block = line_elements(group.spec(), n, 5);
  PlanBuilder book(group.spec());
  const Buf v_buf = book.line("v", block * 4, Depth::two), dy_buf = book.line("dy", block * 4, Depth::two);
  const Buf dx_buf = book.line("dx", block * 4, 1);
  group.launch(MapGradient<F>{f, v, dy, dx, n, block, v_buf, dy_buf, dx_buf}, book.plan(ceil_div(n, block)));
}

}  // namespace cortado
