#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// `rows` rows of `width` values, cut into blocks.
struct MvnRows {
  i64 rows, width, block;
  CORTADO_FN i64 blocks() const { return (width + block - 1) / block; }
  CORTADO_FN i64 at(i64 row, i64 b) const { return row * width + b * block; }
  CORTADO_FN i64 count(i64 b) const { return math::min(block, width - b * block); }
};

/// y = (x - mean) / (deviation + eps) of each row, whose divisor goes to `deviation`; or y = x - mean, if not `scales`.
struct MvnForward {
  static constexpr const char* label = "mvn_forward";
  MvnRows s;
  const float* x;
  float *y, *deviation;
  float eps;
  bool scales;
  Buf x_buf, y_buf, deviation_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const MvnForward p = *this;
    c.lines(
        p.s.rows, Depth::one, [&](i64 r) { return r; },
        [&](i64 r, i64&) {
          const auto add = [](float a, float b) { return a + b; };
          const auto fetch = [&](i64 b) { return c.get(p.x_buf, p.x + p.s.at(r, b), p.s.count(b)); };
          double sum = 0, squares = 0;
          c.pipeline(p.s.blocks(), Depth::two, fetch,
                     [&](i64, auto& x) { sum += c.fold(x.n, 0.0f, add, [&](i64 j) { return x[j]; }); });
          const float mean = static_cast<float>(sum / static_cast<double>(p.s.width));
          if (p.scales)
            c.pipeline(p.s.blocks(), Depth::two, fetch, [&](i64, auto& x) {
              squares += c.fold(x.n, 0.0f, add, [&](i64 j) { return (x[j] - mean) * (x[j] - mean); });
            });
          const float variance = static_cast<float>(squares / static_cast<double>(p.s.width));
          const float divisor = p.scales ? math::sqrt(variance) + p.eps : 1.0f, factor = 1.0f / divisor;
          c.pipeline(p.s.blocks(), Depth::two, fetch, [&](i64 b, auto& x) {
            auto y = c.out(p.y_buf, p.y + p.s.at(r, b), x.n);
            c.each(x.n, [&](i64 j) { y.set(j, (x[j] - mean) * factor); });
            c.put(y);
          });
          auto deviation = c.out(p.deviation_buf, p.deviation + r, 1);
          c.once([&] { deviation.set(0, divisor); });
          c.put(deviation);
        });
  }
};

/// dx = (dy - mean(dy) - y mean(dy y)) / deviation of each row; without the term in y, if not `scales`. dx may be dy.
struct MvnBackward {
  static constexpr const char* label = "mvn_backward";
  MvnRows s;
  const float *y, *dy, *deviation;
  float* dx;
  bool scales;
  Buf y_buf, dy_buf, dx_buf, deviation_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const MvnBackward p = *this;
    c.lines(
        p.s.rows, Depth::two, [&](i64 r) { return c.get(p.deviation_buf, p.deviation + r, 1); },
        [&](i64 r, auto& deviation) {
          const auto add = [](float a, float b) { return a + b; };
          const auto fetch = [&](i64 b) {
            return both(c.get(p.y_buf, p.y + p.s.at(r, b), p.s.count(b)),
                        c.get(p.dy_buf, p.dy + p.s.at(r, b), p.s.count(b)));
          };
          double plain = 0, product = 0;
          c.pipeline(p.s.blocks(), Depth::two, fetch, [&](i64, auto& in) {
            const auto y = in.first, dy = in.second;
            plain += c.fold(dy.n, 0.0f, add, [&](i64 j) { return dy[j]; });
            product += c.fold(dy.n, 0.0f, add, [&](i64 j) { return dy[j] * y[j]; });
          });
          const double n = static_cast<double>(p.s.width);
          const float mean = static_cast<float>(plain / n), along = p.scales ? static_cast<float>(product / n) : 0.0f;
          const float factor = 1.0f / deviation[0];
          c.pipeline(p.s.blocks(), Depth::two, fetch, [&](i64 b, auto& in) {
            const auto y = in.first, dy = in.second;
            auto dx = c.out(p.dx_buf, p.dx + p.s.at(r, b), dy.n);
            c.each(dy.n, [&](i64 j) { dx.set(j, (dy[j] - mean - along * y[j]) * factor); });
            c.put(dx);
          });
        });
  }
};

}  // namespace cortado
