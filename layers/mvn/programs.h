#pragma once
#include "core/machine/view.h"

namespace cortado {

/// y = (x - mean) / (deviation + eps) of each row, whose divisor goes to `deviation`; or y = x - mean, if not `scales`.
struct MvnForward {
  static constexpr const char* label = "mvn_forward";
  Lines<const float> x;
  Lines<float> y, deviation;
  float eps;
  bool scales;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const MvnForward p = *this;
    const RowLines s = p.x.cut;
    each_line(c, s.rows, [&](i64 r) {
      const auto fetch = [&](i64 b) { return p.x.get(c, s.line(r, b)); };
      double sum = 0, squares = 0;
      c.pipeline(s.blocks(), Depth::two, fetch,
                 [&](i64, auto& x) { sum += sum_of(c, x.n, [&](i64 j) { return x[j]; }); });
      const float mean = static_cast<float>(sum / static_cast<double>(s.width));
      if (p.scales)
        c.pipeline(s.blocks(), Depth::two, fetch, [&](i64, auto& x) {
          squares += sum_of(c, x.n, [&](i64 j) { return (x[j] - mean) * (x[j] - mean); });
        });
      const float variance = static_cast<float>(squares / static_cast<double>(s.width));
      const float divisor = p.scales ? math::sqrt(variance) + p.eps : 1.0f, factor = 1.0f / divisor;
      c.pipeline(s.blocks(), Depth::two, fetch, [&](i64 b, auto& x) {
        auto y = p.y.out(c, s.line(r, b));
        c.each(x.n, [&](i64 j) { y.set(j, (x[j] - mean) * factor); });
        c.put(y);
      });
      put_values(c, p.deviation, r, divisor);
    });
  }
};

/// dx = (dy - mean(dy) - y mean(dy y)) / deviation of each row; without the term in y, if not `scales`. dx may be dy.
struct MvnBackward {
  static constexpr const char* label = "mvn_backward";
  Lines<const float> y, dy, deviation;
  Lines<float> dx;
  bool scales;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const MvnBackward p = *this;
    const RowLines s = p.y.cut;
    each_line(c, p.deviation, [&](i64 r, auto& deviation) {
      const auto fetch = [&](i64 b) { return gather(p.y.get(c, s.line(r, b)), p.dy.get(c, s.line(r, b))); };
      double plain = 0, product = 0;
      c.pipeline(s.blocks(), Depth::two, fetch, named([&](i64, auto y, auto dy) {
                   plain += sum_of(c, dy.n, [&](i64 j) { return dy[j]; });
                   product += sum_of(c, dy.n, [&](i64 j) { return dy[j] * y[j]; });
                 }));
      const double n = static_cast<double>(s.width);
      const float mean = static_cast<float>(plain / n), along = p.scales ? static_cast<float>(product / n) : 0.0f;
      const float factor = 1.0f / deviation[0];
      c.pipeline(s.blocks(), Depth::two, fetch, named([&](i64 b, auto y, auto dy) {
                   auto dx = p.dx.out(c, s.line(r, b));
                   c.each(dy.n, [&](i64 j) { dx.set(j, (dy[j] - mean - along * y[j]) * factor); });
                   c.put(dx);
                 }));
    });
  }
};

}  // namespace cortado
