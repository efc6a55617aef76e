#pragma once
#include <cfloat>

#include "core/machine/gather.h"
#include "layers/pooling/windows.h"

namespace cortado {

/// Calls take(i, j) for i < rows, j < cols, row by row; small squares are unrolled, so that their loads are on their
/// way together.
template <class F>
CORTADO_FN void for_window(int rows, int cols, F take) {
  const auto square = [&](auto side) {
    constexpr int n = decltype(side)::value;
    CORTADO_UNROLL
    for (int i = 0; i < n * n; ++i) take(i / n, i % n);
  };
  if (rows == 1 && cols == 1) return take(0, 0);
  if (rows == 2 && cols == 2) return square(Fixed<2>{});
  if (rows == 3 && cols == 3) return square(Fixed<3>{});
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j) take(i, j);
}

/// The plane of a row of a part.
CORTADO_FN inline int plane_of(const PlaneCut::Part& part, i64 row) {
  return part.planes == 1 ? 0 : static_cast<int>(row) / part.rows;
}

/// y = largest input under the window, and mask = its index, as MaxPoolForward; or the average, as AveragePoolForward.
/// A lane visits the whole window of an output.
template <bool largest, class T>
struct PoolWindowsForward : PoolForwardArrays<T> {
  static constexpr const char* label = largest ? "max_pool_windows" : "average_pool_windows";

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PoolWindowsForward p = *this;
    const auto fetch = [&](i64 i) { return get_windows(c, p.shape, p.cut.part(i), p.in, p.x); };
    c.lines(p.cut.lines(), p.depth, fetch, [&](i64 i, auto& window) {
      const auto part = p.cut.part(i);
      const i64 rows = i64{part.planes} * part.rows, at = (part.plane * p.shape.oh + part.y) * p.shape.ow + part.x;
      auto results = c.out2d(p.out, p.y + at, rows, part.cols, p.shape.ow);
      if constexpr (largest) {
        auto who = c.out2d(p.out_mask, p.mask + at, rows, part.cols, p.shape.ow);
        p.visit(c, part, window, [&](i64 r, i64 q, auto value, int index) {
          results.set(r, q, value);
          who.set(r, q, index);
        });
        c.put(who);
      } else {
        p.visit(c, part, window, [&](i64 r, i64 q, auto value, int) { results.set(r, q, value); });
      }
      c.put(results);
    });
  }

 private:
  /// write(row, column, result, index of the largest) for each output of the part.
  template <class C, class In, class Write>
  CORTADO_FN void visit(C& c, const PlaneCut::Part& part, const In& in, Write write) const {
    const PoolShape s = this->shape;
    const auto from = PoolSource::of_outputs(s, part);
    const auto x = in;
    c.each2d(i64{part.planes} * part.rows, part.cols, [&](i64 r, i64 q) {
      const int plane = plane_of(part, r), oy = part.y + static_cast<int>(r) - plane * part.rows,
                ox = part.x + static_cast<int>(q), top = oy * s.sh - s.ph, left = ox * s.sw - s.pw;
      decltype(x(0, 0) + 0.0f) result(largest ? -FLT_MAX : 0.0f);
      int who = -1;
      for_window(s.kh, s.kw, [&](int ky, int kx) {
        const int iy = top + ky, ix = left + kx;
        const bool inside = iy >= 0 && iy < s.h && ix >= 0 && ix < s.w;
        const i64 row = math::max(0, math::min(iy - from.y, from.rows - 1)),
                  col = math::max(0, math::min(ix - from.x, from.cols - 1));
        const auto value = x(i64{plane} * from.rows + row, col);
        if constexpr (largest) {
          const auto better = inside & (value > result);
          result = math::select(better, value, result);
          who = math::select(better, iy * s.w + ix, who);
        } else {
          result = math::select(inside, result + value, result);
        }
      });
      if constexpr (!largest) result = result / static_cast<float>(math::max(1, s.window_size(oy, ox)));
      write(r, q, result, who);
    });
  }
};

/// dx = sum of dy over the windows whose largest input this is, or of dy / window_size over those that hold it. A lane
/// visits all windows that may hold an input.
template <bool largest, class T>
struct PoolWindowsBackward : PoolBackwardArrays<T> {
  static constexpr const char* label = largest ? "max_pool_windows_backward" : "average_pool_windows_backward";

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PoolWindowsBackward p = *this;
    const auto fetch = [&](i64 i) { return p.template get_outputs<largest>(c, p.cut.part(i)); };
    const auto work = named([&](i64 i, auto gradients, auto indexes) {
      const auto part = p.cut.part(i);
      auto sums = c.out2d(p.out, p.dx + (part.plane * p.shape.h + part.y) * p.shape.w + part.x,
                          i64{part.planes} * part.rows, part.cols, p.shape.w);
      p.collect(c, part, gradients, indexes, sums);
      c.put(sums);
    });
    c.lines(p.cut.lines(), p.depth, fetch, work);
  }

 private:
  template <class C, class Gradients, class Indexes, class Sums>
  CORTADO_FN void collect(C& c, const PlaneCut::Part& part, const Gradients& gradients, const Indexes& indexes,
                          Sums& sums) const {
    const PoolShape s = this->shape;
    if (s.sh != s.sw) return collect(c, part, gradients, indexes, sums, s.sh, s.sw);
    with_stride(s.sw, [&](auto stride) { collect(c, part, gradients, indexes, sums, stride, stride); });
  }
  template <class C, class Gradients, class Indexes, class Sums, class Stride>
  CORTADO_FN void collect(C& c, const PlaneCut::Part& part, const Gradients& gradients,
                          [[maybe_unused]] const Indexes& indexes, Sums& sums, Stride sh, Stride sw) const {
    const PoolShape s = this->shape;
    const auto from = PoolSource::of_inputs(s, part);
    const int down = math::min((s.kh + sh - 1) / sh, s.oh), across = math::min((s.kw + sw - 1) / sw, s.ow);
    c.each2d(i64{part.planes} * part.rows, part.cols, [&](i64 r, i64 q) {
      const int plane = plane_of(part, r), iy = part.y + static_cast<int>(r) - plane * part.rows,
                ix = part.x + static_cast<int>(q);
      const int top = math::max(0, iy + s.ph - s.kh + sh) / sh, left = math::max(0, ix + s.pw - s.kw + sw) / sw;
      const int last_y = math::min(s.oh - 1, (iy + s.ph) / sh), last_x = math::min(s.ow - 1, (ix + s.pw) / sw);
      decltype(gradients(0, 0) + 0.0f) sum(0.0f);
      for_window(down, across, [&](int j, int i) {
        const int oy = top + j, ox = left + i;
        const bool holds = oy <= last_y && ox <= last_x;
        const i64 row = i64{plane} * from.rows + math::max(0, math::min(oy - from.y, from.rows - 1)),
                  col = math::max(0, math::min(ox - from.x, from.cols - 1));
        const auto gradient = gradients(row, col);
        if constexpr (largest)
          sum = math::select(holds & (indexes(row, col) == iy * s.w + ix), sum + gradient, sum);
        else
          sum = math::select(holds, sum + gradient / static_cast<float>(math::max(1, s.window_size(oy, ox))), sum);
      });
      sums.set(r, q, sum);
    });
  }
};

}  // namespace cortado
