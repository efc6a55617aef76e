#pragma once
#include <cfloat>
#include <vector>

#include "layers/pooling/programs.h"

namespace cortado::oracle {

/// Calls f(output index, input index, index in the plane) for every input position under every window, in row-major
/// order.
template <class F>
void for_windows(const PoolShape& s, F f) {
  for (i64 plane = 0; plane < s.planes; ++plane)
    for (int oy = 0; oy < s.oh; ++oy)
      for (int ox = 0; ox < s.ow; ++ox)
        for (int ky = 0; ky < s.kh; ++ky)
          for (int kx = 0; kx < s.kw; ++kx) {
            const int iy = oy * s.sh - s.ph + ky, ix = ox * s.sw - s.pw + kx;
            if (iy < 0 || iy >= s.h || ix < 0 || ix >= s.w) continue;
            const i64 index = i64{iy} * s.w + ix;
            f((plane * s.oh + oy) * s.ow + ox, plane * s.h * s.w + index, index);
          }
}

inline void max_pool(const PoolShape& s, const float* x, std::vector<float>& y, std::vector<i64>& mask) {
  const auto outputs = static_cast<std::size_t>(s.planes * s.oh * s.ow);
  y.assign(outputs, -FLT_MAX);
  mask.assign(outputs, -1);
  for_windows(s, [&](i64 o, i64 i, i64 index) {
    const auto at = static_cast<std::size_t>(o);
    if (x[i] > y[at]) {
      y[at] = x[i];
      mask[at] = index;
    }
  });
}

inline std::vector<float> max_pool_backward(const PoolShape& s, const std::vector<i64>& mask, const float* dy) {
  std::vector<float> dx(static_cast<std::size_t>(s.planes * s.h * s.w), 0.0f);
  for_windows(s, [&](i64 o, i64 i, i64 index) {
    if (mask[static_cast<std::size_t>(o)] == index) dx[static_cast<std::size_t>(i)] += dy[o];
  });
  return dx;
}

/// Positions that output o averages over: the window clipped to the padded plane.
inline float window_size(const PoolShape& s, i64 o) {
  const i64 y = o / s.ow % s.oh * s.sh - s.ph, x = o % s.ow * s.sw - s.pw;
  i64 size = 0;
  for (i64 iy = y; iy < y + s.kh && iy < s.h + s.ph; ++iy)
    for (i64 ix = x; ix < x + s.kw && ix < s.w + s.pw; ++ix) ++size;
  return static_cast<float>(size);
}

inline std::vector<float> average_pool(const PoolShape& s, const float* x) {
  std::vector<float> y(static_cast<std::size_t>(s.planes * s.oh * s.ow), 0.0f);
  for_windows(s, [&](i64 o, i64 i, i64) { y[static_cast<std::size_t>(o)] += x[i] / window_size(s, o); });
  return y;
}

inline std::vector<float> average_pool_backward(const PoolShape& s, const float* dy) {
  std::vector<float> dx(static_cast<std::size_t>(s.planes * s.h * s.w), 0.0f);
  for_windows(s, [&](i64 o, i64 i, i64) { dx[static_cast<std::size_t>(i)] += dy[o] / window_size(s, o); });
  return dx;
}

}  // namespace cortado::oracle
