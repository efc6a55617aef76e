#pragma once
#include "core/machine/elementwise.h"
#include "core/machine/view.h"

namespace cortado {

/// squares[r] = sum of (a - b)^2 over row r of two arrays.
struct SquaredDistances {
  static constexpr const char* label = "squared_distances";
  Lines<const float> a, b;
  Lines<float> squares;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SquaredDistances p = *this;
    each_line(c, p.a.cut.rows, [&](i64 r) {
      const double sum = sum_of_row(
          c, p.a.cut, r, [&](i64 line) { return gather(p.a.get(c, line), p.b.get(c, line)); },
          [&](auto a, auto b) { return sum_of(c, a.n, [&](i64 j) { return (a[j] - b[j]) * (a[j] - b[j]); }); });
      put_values(c, p.squares, r, static_cast<float>(sum));
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
