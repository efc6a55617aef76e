#pragma once
#include "core/base/types.h"

namespace cortado::kokkos {

/// Pairwise, in lengths that the compiler knows, so that everything stays in registers. Without `omp simd` GCC
/// unrolls the shorter loops before it looks for vectors, and adds numbers one by one: a third of the speed.
template <i64 half, class T, class Op>
T sum_of_pairs(const T (&part)[2 * half], Op op) {
  T sums[half];
#pragma omp simd
  for (i64 j = 0; j < half; ++j) sums[j] = op(part[j], part[j + half]);
  if constexpr (half == 1)
    return sums[0];
  else
    return sum_of_pairs<half / 2>(sums, op);
}

/// Folds elements from i on, as far as whole blocks of `width` go.
template <i64 width, class T, class Op, class F>
void fold_blocks(i64& i, i64 n, T& result, Op op, const F& f) {
  if (n - i < width) return;
  T part[width];
#pragma GCC ivdep
  for (i64 j = 0; j < width; ++j) part[j] = f(i + j);
  for (i += width; i + width <= n; i += width)
#pragma GCC ivdep
    for (i64 j = 0; j < width; ++j) part[j] = op(part[j], T(f(i + j)));
  result = op(result, sum_of_pairs<width / 2>(part, op));
}

}  // namespace cortado::kokkos
