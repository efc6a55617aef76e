#pragma once
#include "core/base/fixed.h"
#include "core/machine/gather.h"
#include "core/machine/math.h"
#include "core/machine/program.h"
#include "layers/pooling/shape.h"

namespace cortado {

/// The cut of `planes` planes of height x width into lines (swCaffe IV-D): several whole planes; else a band of whole
/// rows of one plane; else, where a row exceeds the scratchpad, a block of columns of such a band.
struct PlaneCut {
  i64 planes = 0;
  int height = 0, width = 0;
  int line_planes = 1, line_rows = 1, line_cols = 1;

  struct Part {
    i64 plane;  ///< the first of `planes`
    int planes, y, rows, x, cols;
  };

  CORTADO_FN int bands() const { return (height + line_rows - 1) / line_rows; }
  CORTADO_FN int blocks() const { return (width + line_cols - 1) / line_cols; }
  CORTADO_FN i64 lines() const { return (planes + line_planes - 1) / line_planes * bands() * blocks(); }
  CORTADO_FN Part part(i64 line) const {
    const i64 plane = line / blocks() / bands() * line_planes;
    const int y = static_cast<int>(line / blocks() % bands()) * line_rows;
    const int x = static_cast<int>(line % blocks()) * line_cols;
    return {plane, static_cast<int>(math::min(i64{line_planes}, planes - plane)),
            y,     math::min(line_rows, height - y),
            x,     math::min(line_cols, width - x)};
  }
};

/// Calls f(stride), the stride known to the compiler where it is 1 or 2: strided reads become vector code only then.
template <class F>
CORTADO_FN void with_stride(int stride, F f) {
  if (stride == 1) return f(Fixed<1>{});
  if (stride == 2) return f(Fixed<2>{});
  f(stride);
}

/// Rows and columns of the other array that a part of the cut one needs, of every plane of the part.
struct PoolSource {
  int y, rows, x, cols;

  /// Input under the windows of part `p` of the output. Whole planes come whole, so that they are contiguous.
  CORTADO_FN static PoolSource of_outputs(const PoolShape& s, const PlaneCut::Part& p) {
    const Range y = p.rows == s.oh ? Range{0, s.h} : under(p.y, p.rows, s.kh, s.sh, s.ph, s.h);
    const Range x = p.cols == s.ow ? Range{0, s.w} : under(p.x, p.cols, s.kw, s.sw, s.pw, s.w);
    return {static_cast<int>(y.first), static_cast<int>(y.count()), static_cast<int>(x.first),
            static_cast<int>(x.count())};
  }
  /// Outputs whose windows may hold a position of part `p` of the input.
  CORTADO_FN static PoolSource of_inputs(const PoolShape& s, const PlaneCut::Part& p) {
    const Range y = p.rows == s.h ? Range{0, s.oh} : over(p.y, p.rows, s.kh, s.sh, s.ph, s.oh);
    const Range x = p.cols == s.w ? Range{0, s.ow} : over(p.x, p.cols, s.kw, s.sw, s.pw, s.ow);
    return {static_cast<int>(y.first), static_cast<int>(y.count()), static_cast<int>(x.first),
            static_cast<int>(x.count())};
  }

 private:
  // Never empty, so that there is always something to fetch.
  CORTADO_FN static Range under(int first, int count, int k, int stride, int pad, int extent) {
    const int begin = math::max(0, math::min(first * stride - pad, extent - 1));
    return {begin, math::max(begin + 1, math::min((first + count - 1) * stride - pad + k, extent))};
  }
  CORTADO_FN static Range over(int first, int count, int k, int stride, int pad, int extent) {
    const int begin = math::max(0, math::min((first + pad) / stride - (k - 1) / stride, extent - 1));
    return {begin, math::max(begin + 1, math::min((first + count - 1 + pad) / stride + 1, extent))};
  }
};

/// The arrays, cut and buffers of a program that makes outputs. Averages have no mask.
template <class T>
struct PoolForwardArrays {
  PoolShape shape;
  PlaneCut cut;  ///< of the output
  const T* x;
  T* y;
  int* mask;
  Buf in, out, out_mask;
  Depth depth;
};
/// The same of a program that makes the inputs' gradients.
template <class T>
struct PoolBackwardArrays {
  PoolShape shape;
  PlaneCut cut;  ///< of the input
  const T* dy;
  const int* mask;
  T* dx;
  Buf in, in_mask, out;
  Depth depth;

  /// The gradients of the outputs whose windows may hold part `p` of the input, and their masks or 0.
  template <bool masks, class C>
  CORTADO_FN auto get_outputs(C& c, const PlaneCut::Part& p) const {
    const auto from = PoolSource::of_inputs(shape, p);
    const i64 at = (p.plane * shape.oh + from.y) * shape.ow + from.x, rows = i64{p.planes} * from.rows;
    if constexpr (masks)
      return gather(c.get2d(in, dy + at, rows, from.cols, shape.ow),
                    c.get2d(in_mask, mask + at, rows, from.cols, shape.ow));
    else
      return gather(c.get2d(in, dy + at, rows, from.cols, shape.ow), 0);
  }
};

/// Fetches what lies under the windows of part `p` of the output.
template <class C, class T>
CORTADO_FN auto get_windows(C& c, const PoolShape& s, const PlaneCut::Part& p, const Buf& in, const T* x) {
  const auto from = PoolSource::of_outputs(s, p);
  return c.get2d(in, x + (p.plane * s.h + from.y) * s.w + from.x, p.planes * from.rows, from.cols, s.w);
}

/// Visits the windows of part `p` position by position: for each kernel position in row-major order a lane loop calls
/// f(r, c, inside, value, index) for the outputs (r, c) of the part whose column under that position exists; `inside`
/// says whether the row does, `index` is the position in the input plane. Free of branches within a row.
template <class C, class In, class F>
CORTADO_FN void visit_windows(C& c, const PoolShape& s, const PlaneCut::Part& p, const In& in, F f) {
  const PoolSource from = PoolSource::of_outputs(s, p);
  with_stride(s.sw, [&](auto stride) {
    for (int ky = 0; ky < s.kh; ++ky)
      for (int kx = 0; kx < s.kw; ++kx) {
        const int column = kx - s.pw;  // of output 0
        const int before = math::max(0, -column), room = math::max(0, s.w - column);
        const Range cols = {math::max(0, (before + s.sw - 1) / s.sw - p.x),
                            math::min(p.cols, (room + s.sw - 1) / s.sw - p.x)};
        // Places are 64-bit numbers: narrower ones would be gathered, because they could wrap.
        const i64 step = stride, first = p.x * step + column;
        c.each2d(Range{0, i64{p.planes} * p.rows}, cols, [&](i64 r, i64 q) {
          const int plane = static_cast<int>(r) / p.rows;
          const int iy = (p.y + static_cast<int>(r) % p.rows) * s.sh - s.ph + ky;
          const i64 ix = q * static_cast<i64>(stride) + first;
          const i64 row = plane * from.rows + math::max(0, math::min(iy - from.y, from.rows - 1));
          f(r, q, iy >= 0 && iy < s.h, in(row, ix - from.x), static_cast<int>(i64{iy} * s.w + ix));
        });
      }
  });
}

/// The other way: for part `p` of the input, calls f(r, c, inside, row, col, oy, ox, ky, kx) for each output window
/// that may hold input (r, c), windows in row-major order; (row, col) is its place in the fetched outputs and (ky, kx)
/// the input's position in the window, valid if ky < kh and kx < kw.
template <class C, class F>
CORTADO_FN void visit_owners(C& c, const PoolShape& s, const PlaneCut::Part& p, F f) {
  const PoolSource from = PoolSource::of_inputs(s, p);
  with_stride(s.sw, [&](auto stride) {
    for (int jy = (s.kh - 1) / s.sh; jy >= 0; --jy)
      for (int jx = (s.kw - 1) / s.sw; jx >= 0; --jx) {
        const Range cols = {math::max(0, jx * s.sw - s.pw - p.x), math::min(p.cols, (s.ow + jx) * s.sw - s.pw - p.x)};
        c.each2d(Range{0, i64{p.planes} * p.rows}, cols, [&](i64 r, i64 q) {
          const int plane = static_cast<int>(r) / p.rows;
          const int y = p.y + static_cast<int>(r) % p.rows + s.ph;
          const unsigned x = static_cast<unsigned>(p.x + static_cast<int>(q) + s.pw);
          const int oy = y / s.sh - jy;
          const int ox = static_cast<int>(x / static_cast<unsigned>(stride)) - jx;
          const int row = plane * from.rows + math::max(0, math::min(oy - from.y, from.rows - 1));
          f(r, q, oy >= 0 && oy < s.oh, row, ox - from.x, oy, ox, y - oy * s.sh, static_cast<int>(x) - ox * stride);
        });
      }
  });
}

}  // namespace cortado
