#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// y = max(x, 0) + slope min(x, 0), element by element; y may be x.
template <class T>
struct ReluForward {
  static constexpr const char* label = "relu_forward";
  const T* x;
  T* y;
  float slope;
  i64 n, block;
  Buf x_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const ReluForward p = *this;
    c.lines((p.n + p.block - 1) / p.block, Depth::two,
            [&](i64 i) { return c.get(p.x_buf, p.x + i * p.block, math::min(p.block, p.n - i * p.block)); },
            [&](i64 i, auto& x) {
              const float slope = p.slope;
              auto y = c.out(p.y_buf, p.y + i * p.block, x.n);
              c.each(x.n, [&](i64 j) { y.set(j, math::select(x[j] > 0.0f, x[j], slope * x[j])); });
              c.put(y);
            });
  }
};

/// dx = dy where y is positive, slope dy elsewhere; dx may be dy. y is the forward input, or its result, which has the
/// same sign for slopes >= 0 and is all there is after running in place.
template <class T>
struct ReluBackward {
  static constexpr const char* label = "relu_backward";
  const T *y, *dy;
  T* dx;
  float slope;
  i64 n, block;
  Buf y_buf, dy_buf, dx_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const ReluBackward p = *this;
    c.lines((p.n + p.block - 1) / p.block, Depth::two,
            [&](i64 i) {
              const i64 n = math::min(p.block, p.n - i * p.block);
              return both(c.get(p.y_buf, p.y + i * p.block, n), c.get(p.dy_buf, p.dy + i * p.block, n));
            },
            [&](i64 i, auto& in) {
              const float slope = p.slope;
              const auto y = in.first, dy = in.second;
              auto dx = c.out(p.dx_buf, p.dx + i * p.block, y.n);
              c.each(y.n, [&](i64 j) { dx.set(j, math::select(y[j] > 0.0f, dy[j], slope * dy[j])); });
              c.put(dx);
            });
  }
};

}  // namespace cortado
