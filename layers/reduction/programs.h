#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

enum class Reduce { sum, absolutes, squares };

/// y[r] = factor times the sum of row r of x (rows x width), of its absolute values or of its squares.
struct ReduceRows {
  static constexpr const char* label = "reduce_rows";
  Reduce what;
  const float* x;
  float* y;
  float factor;
  i64 rows, width, block;
  Buf x_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const ReduceRows p = *this;
    c.lines(
        p.rows, Depth::one, [&](i64 r) { return r; },
        [&](i64 r, i64&) {
          double sum = 0;
          const auto add = [](float a, float b) { return a + b; };
          c.pipeline((p.width + p.block - 1) / p.block, Depth::two,
                     [&](i64 b) {
                       return c.get(p.x_buf, p.x + r * p.width + b * p.block,
                                    math::min(p.block, p.width - b * p.block));
                     },
                     [&](i64, auto& x) {
                       if (p.what == Reduce::sum) sum += c.fold(x.n, 0.0f, add, [&](i64 j) { return x[j]; });
                       if (p.what == Reduce::absolutes)
                         sum += c.fold(x.n, 0.0f, add, [&](i64 j) { return math::abs(x[j]); });
                       if (p.what == Reduce::squares) sum += c.fold(x.n, 0.0f, add, [&](i64 j) { return x[j] * x[j]; });
                     });
          auto y = c.out(p.y_buf, p.y + r, 1);
          c.once([&] { y.set(0, p.factor * static_cast<float>(sum)); });
          c.put(y);
        });
  }
};

/// dx = factor dy[r] times what ReduceRows differentiates to: 1, the sign of x, or 2 x.
struct ReduceRowsGradient {
  static constexpr const char* label = "reduce_rows_gradient";
  Reduce what;
  const float *x, *dy;
  float* dx;
  float factor;
  i64 rows, width, block;
  Buf x_buf, dy_buf, dx_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const ReduceRowsGradient p = *this;
    const i64 blocks = (p.width + p.block - 1) / p.block;
    c.lines(
        p.rows * blocks, Depth::two,
        [&](i64 i) {
          const i64 first = i % blocks * p.block;
          return both(c.get(p.x_buf, p.x + i / blocks * p.width + first, math::min(p.block, p.width - first)),
                      c.get(p.dy_buf, p.dy + i / blocks, 1));
        },
        [&](i64 i, auto& in) {
          const auto x = in.first;
          const float slope = p.factor * in.second[0];
          auto dx = c.out(p.dx_buf, p.dx + i / blocks * p.width + i % blocks * p.block, x.n);
          if (p.what == Reduce::sum) c.each(x.n, [&](i64 j) { dx.set(j, slope); });
          if (p.what == Reduce::absolutes)
            c.each(x.n, [&](i64 j) {
              dx.set(j, math::select(x[j] > 0.0f, slope, math::select(x[j] < 0.0f, -slope, 0.0f)));
            });
          if (p.what == Reduce::squares) c.each(x.n, [&](i64 j) { dx.set(j, 2.0f * slope * x[j]); });
          c.put(dx);
        });
  }
};

}  // namespace cortado
