#pragma once
#include "core/machine/elementwise.h"
#include "core/machine/view.h"

namespace cortado {

enum class Reduce { sum, absolutes, squares };

/// y[r] = factor times the sum of row r of x (rows x width), of its absolute values or of its squares.
struct ReduceRows {
  static constexpr const char* label = "reduce_rows";
  Reduce what;
  Lines<const float> x;
  Lines<float> y;
  float factor;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const ReduceRows p = *this;
    each_line(c, p.x.cut.rows, [&](i64 r) {
      const double sum = sum_of_row(
          c, p.x.cut, r, [&](i64 line) { return gather(p.x.get(c, line)); },
          [&](auto x) {
            switch (p.what) {
              case Reduce::absolutes: return sum_of(c, x.n, [&](i64 j) { return math::abs(x[j]); });
              case Reduce::squares: return sum_of(c, x.n, [&](i64 j) { return x[j] * x[j]; });
              default: return sum_of(c, x.n, [&](i64 j) { return x[j]; });
            }
          });
      put_values(c, p.y, r, p.factor * static_cast<float>(sum));
    });
  }
};

/// The derivative of ReduceRows, times the row's dy and the factor: 1, the sign of x, or 2 x.
template <Reduce what>
struct ReduceGradient {
  static constexpr const char* label = "reduce_rows_gradient";
  float factor;
  template <class V>
  CORTADO_FN auto operator()(V x, float dy) const {
    const float slope = factor * dy;
    if constexpr (what == Reduce::sum) return V(slope);
    if constexpr (what == Reduce::absolutes) return math::select(x > 0.0f, slope, math::select(x < 0.0f, -slope, 0.0f));
    if constexpr (what == Reduce::squares) return 2.0f * slope * x;
  }
};

}  // namespace cortado
