#pragma once
#include "core/machine/gather.h"
#include "core/machine/row_lines.h"
#include "core/machine/sums.h"

namespace cortado {

/// dots[r] = the sum over row r of x dy.
struct RowDots {
  static constexpr const char* label = "row_dots";
  RowLines s;
  const float *x, *dy;
  float* dots;
  Buf x_buf, dy_buf, dot_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const RowDots p = *this;
    each_line(c, p.s.rows, [&](i64 r) {
      double dot = 0;
      c.pipeline(
          p.s.blocks(), Depth::two,
          [&](i64 b) {
            const i64 line = p.s.line(r, b);
            return gather(p.s.get(c, p.x_buf, p.x, line), p.s.get(c, p.dy_buf, p.dy, line));
          },
          named([&](i64, auto x, auto dy) { dot += sum_of(c, x.n, [&](i64 j) { return x[j] * dy[j]; }); }));
      put_values(c, p.dot_buf, p.dots + r, static_cast<float>(dot));
    });
  }
};

}  // namespace cortado
