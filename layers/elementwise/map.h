#pragma once
#include "core/machine/launch_elementwise.h"
#include "layers/elementwise/programs.h"

namespace cortado {

/// Queues y = f(x) for n values; y may be x. T: float or bf16.
template <class F, class T>
void map(CoreGroup& group, F f, const T* x, T* y, i64 n) {
  elementwise(group, n, Map<F>{f}, from(x), to(y));
}

/// Queues dx = dy f' for n values, f' from v: f's value or argument, as F::from_output says. dx may be dy.
template <class F, class T>
void map_gradient(CoreGroup& group, F f, const T* v, const T* dy, T* dx, i64 n) {
  elementwise(group, n, MapGradient<F>{f}, from(v, dy), to(dx));
}

}  // namespace cortado
