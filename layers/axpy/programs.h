#pragma once
#include "core/machine/view.h"

namespace cortado {

/// dots[r] = the sum over row r of x dy.
struct RowDots {
  static constexpr const char* label = "row_dots";
  Lines<const float> x, dy;
  Lines<float> dots;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const RowDots p = *this;
    each_line(c, p.x.cut.rows, [&](i64 r) {
      const double dot = sum_of_row(
          c, p.x.cut, r, [&](i64 line) { return gather(p.x.get(c, line), p.dy.get(c, line)); },
          [&](auto x, auto dy) { return sum_of(c, x.n, [&](i64 j) { return x[j] * dy[j]; }); });
      put_values(c, p.dots, r, static_cast<float>(dot));
    });
  }
};

}  // namespace cortado
