#pragma once
#include "core/machine/gather.h"
#include "core/machine/row_lines.h"
#include "core/machine/sums.h"

namespace cortado {

/// y = (x - mean) / (deviation + eps) of each row, whose divisor goes to `deviation`; or y = x - mean, if not `scales`.
struct MvnForward {
  static constexpr const char* label = "mvn_forward";
  RowLines s;
  const float* x;
  float *y, *deviation;
  float eps;
  bool scales;
  Buf x_buf, y_buf, deviation_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const MvnForward p = *this;
    each_line(c, p.s.rows, [&](i64 r) {
      const auto fetch = [&](i64 b) { return p.s.get(c, p.x_buf, p.x, p.s.line(r, b)); };
      double sum = 0, squares = 0;
      c.pipeline(p.s.blocks(), Depth::two, fetch,
                 [&](i64, auto& x) { sum += sum_of(c, x.n, [&](i64 j) { return x[j]; }); });
      const float mean = static_cast<float>(sum / static_cast<double>(p.s.width));
      if (p.scales)
        c.pipeline(p.s.blocks(), Depth::two, fetch, [&](i64, auto& x) {
          squares += sum_of(c, x.n, [&](i64 j) { return (x[j] - mean) * (x[j] - mean); });
        });
      const float variance = static_cast<float>(squares / static_cast<double>(p.s.width));
      const float divisor = p.scales ? math::sqrt(variance) + p.eps : 1.0f, factor = 1.0f / divisor;
      c.pipeline(p.s.blocks(), Depth::two, fetch, [&](i64 b, auto& x) {
        auto y = p.s.out(c, p.y_buf, p.y, p.s.line(r, b));
        c.each(x.n, [&](i64 j) { y.set(j, (x[j] - mean) * factor); });
        c.put(y);
      });
      put_values(c, p.deviation_buf, p.deviation + r, divisor);
    });
  }
};

/// dx = (dy - mean(dy) - y mean(dy y)) / deviation of each row; without the term in y, if not `scales`. dx may be dy.
struct MvnBackward {
  static constexpr const char* label = "mvn_backward";
  RowLines s;
  const float *y, *dy, *deviation;
  float* dx;
  bool scales;
  Buf y_buf, dy_buf, dx_buf, deviation_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const MvnBackward p = *this;
    const auto fetch_deviation = [&](i64 r) { return c.get(p.deviation_buf, p.deviation + r, 1); };
    c.lines(p.s.rows, Depth::two, fetch_deviation, [&](i64 r, auto& deviation) {
      const auto fetch = [&](i64 b) {
        const i64 line = p.s.line(r, b);
        return gather(p.s.get(c, p.y_buf, p.y, line), p.s.get(c, p.dy_buf, p.dy, line));
      };
      double plain = 0, product = 0;
      c.pipeline(p.s.blocks(), Depth::two, fetch, named([&](i64, auto y, auto dy) {
                   plain += sum_of(c, dy.n, [&](i64 j) { return dy[j]; });
                   product += sum_of(c, dy.n, [&](i64 j) { return dy[j] * y[j]; });
                 }));
      const double n = static_cast<double>(p.s.width);
      const float mean = static_cast<float>(plain / n), along = p.scales ? static_cast<float>(product / n) : 0.0f;
      const float factor = 1.0f / deviation[0];
      c.pipeline(p.s.blocks(), Depth::two, fetch, named([&](i64 b, auto y, auto dy) {
                   auto dx = p.s.out(c, p.dx_buf, p.dx, p.s.line(r, b));
                   c.each(dy.n, [&](i64 j) { dx.set(j, (dy[j] - mean - along * y[j]) * factor); });
                   c.put(dx);
                 }));
    });
  }
};

}  // namespace cortado
