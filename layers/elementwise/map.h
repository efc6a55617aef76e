#pragma once
#include "core/machine/launch_elementwise.h"
#include "layers/elementwise/programs.h"

namespace cortado {

/// Queues y = f(x) for n values; y may be x.
template <class F>
void map(CoreGroup& group, F f, const float* x, float* y, i64 n) {
  elementwise(group, n, Map<F>{f}, from(x), to(y));
}

/// Queues dx = dy f' for n values, f' from v: f's value or argument, as F::from_output says. dx may be dy.
template <class F>
void map_gradient(CoreGroup& group, F f, const float* v, const float* dy, float* dx, i64 n) {
  elementwise(group, n, MapGradient<F>{f}, from(v, dy), to(dx));
}

}  // namespace cortado
