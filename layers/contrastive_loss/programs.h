#pragma once
#include "core/machine/elementwise.h"
#include "core/machine/sums.h"

namespace cortado {

/// squares[r] = sum of (a - b)^2 over row r of two arrays.
struct SquaredDistances {
  static constexpr const char* label = "squared_distances";
  const float *a, *b;
  float* squares;
  RowLines s;
  Buf a_buf, b_buf, square_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SquaredDistances p = *this;
    each_line(c, p.s.rows, [&](i64 r) {
      double sum = 0;
      c.pipeline(
          p.s.blocks(), Depth::two,
          [&](i64 i) {
            const i64 line = p.s.line(r, i);
            return gather(p.s.get(c, p.a_buf, p.a, line), p.s.get(c, p.b_buf, p.b, line));
          },
          named([&](i64, auto a, auto b) {
            sum += sum_of(c, a.n, [&](i64 j) { return (a[j] - b[j]) * (a[j] - b[j]); });
          }));
      put_values(c, p.square_buf, p.squares + r, static_cast<float>(sum));
    });
  }
};

/// weight factor (a - b) for every row, which has a factor; weight is the loss's own gradient.
struct ScaledDifferences {
  static constexpr const char* label = "scaled_differences";
  float sign;
  template <class V>
  CORTADO_FN auto operator()(V a, V b, float factor, float weight) const {
    return sign * weight * factor * (a - b);
  }
};

}  // namespace cortado
