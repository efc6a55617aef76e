#pragma once
#include "core/machine/program.h"
#include "layers/elementwise/functions.h"

namespace cortado {

/// y = f(x), element by element; y may be x.
template <class F>
struct Map {
  static constexpr const char* label = F::label;
  F f;
  const float* x;
  float* y;
  i64 n, block;
  Buf x_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const Map p = *this;
    c.lines((p.n + p.block - 1) / p.block, Depth::two,
            [&](i64 i) { return c.get(p.x_buf, p.x + i * p.block, math::min(p.block, p.n - i * p.block)); },
            [&](i64 i, auto& x) {
              const F f = p.f;
              auto y = c.out(p.y_buf, p.y + i * p.block, x.n);
              c.each(x.n, [&](i64 j) {
                const auto v = x[j];
                y.set(j, f.value(v));
              });
              c.put(y);
            });
  }
};

/// dx = dy f', with f' from `v`, which is f's value or argument as F::from_output says; dx may be dy.
template <class F>
struct MapGradient {
  static constexpr const char* label = F::gradient_label;
  F f;
  const float *v, *dy;
  float* dx;
  i64 n, block;
  Buf v_buf, dy_buf, dx_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const MapGradient p = *this;
    c.lines((p.n + p.block - 1) / p.block, Depth::two,
            [&](i64 i) {
              const i64 n = math::min(p.block, p.n - i * p.block);
              return both(c.get(p.v_buf, p.v + i * p.block, n), c.get(p.dy_buf, p.dy + i * p.block, n));
            },
            [&](i64 i, auto& in) {
              const F f = p.f;
              const auto v = in.first, dy = in.second;
              auto dx = c.out(p.dx_buf, p.dx + i * p.block, v.n);
              c.each(v.n, [&](i64 j) {
                const auto at = v[j];
                dx.set(j, dy[j] * f.slope(at));
              });
              c.put(dx);
            });
  }
};

}  // namespace cortado
