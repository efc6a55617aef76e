#pragma once
#include "core/machine/elementwise.h"
#include "core/machine/sums.h"

namespace cortado {

enum class Reduce { sum, absolutes, squares };

/// y[r] = factor times the sum of row r of x (rows x width), of its absolute values or of its squares.
struct ReduceRows {
  static constexpr const char* label = "reduce_rows";
  Reduce what;
  const float* x;
  float* y;
  float factor;
  RowLines s;
  Buf x_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const ReduceRows p = *this;
    each_line(c, p.s.rows, [&](i64 r) {
      double sum = 0;
      c.pipeline(
          p.s.blocks(), Depth::two, [&](i64 b) { return p.s.get(c, p.x_buf, p.x, p.s.line(r, b)); },
          [&](i64, auto& x) {
            if (p.what == Reduce::sum) sum += sum_of(c, x.n, [&](i64 j) { return x[j]; });
            if (p.what == Reduce::absolutes) sum += sum_of(c, x.n, [&](i64 j) { return math::abs(x[j]); });
            if (p.what == Reduce::squares) sum += sum_of(c, x.n, [&](i64 j) { return x[j] * x[j]; });
          });
      put_values(c, p.y_buf, p.y + r, p.factor * static_cast<float>(sum));
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
