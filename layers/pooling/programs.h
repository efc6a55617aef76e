#pragma once
#include <cfloat>

#include "core/base/fixed.h"
#include "core/base/random.h"
#include "core/machine/math.h"
#include "core/machine/program.h"
#include "layers/pooling/plane_programs.h"
#include "layers/pooling/shape.h"

namespace cortado {

/// How `planes` planes of height x width are cut into lines (swCaffe IV-D): several whole planes; else a band of whole
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

/// Fetches what lies under the windows of part `p` of the output.
template <class C>
CORTADO_FN auto get_windows(C& c, const PoolShape& s, const PlaneCut::Part& p, const Buf& in, const float* x) {
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

/// y = largest input under the window, mask = its index in the plane (the first of equal ones); -FLT_MAX and -1 for a
/// window that lies outside the plane.
struct MaxPoolForward {
  static constexpr const char* label = "max_pool_forward";
  PoolShape shape;
  PlaneCut cut;  ///< of the output
  const float* x;
  float* y;
  int* mask;
  Buf in, out, out_mask;
  Depth depth;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PoolShape s = shape;
    c.lines(
        cut.lines(), depth, [&](i64 i) { return get_windows(c, s, cut.part(i), in, x); },
        [&](i64 i, auto& window) {
          const auto p = cut.part(i);
          const i64 at = (p.plane * s.oh + p.y) * s.ow + p.x, rows = i64{p.planes} * p.rows;
          auto best = c.out2d(out, y + at, rows, p.cols, s.ow);
          auto who = c.out2d(out_mask, mask + at, rows, p.cols, s.ow);
          c.each2d(rows, p.cols, [&](i64 r, i64 q) {
            best.set(r, q, -FLT_MAX);
            who.set(r, q, -1);
          });
          visit_windows(c, s, p, window, [&](i64 r, i64 q, bool inside, auto value, int index) {
            const auto old = best.at(r, q);
            const auto better = inside & (value > old);
            best.set(r, q, math::select(better, value, old));
            who.set(r, q, math::select(better, index, who.at(r, q)));
          });
          c.put(best);
          c.put(who);
        });
  }
};

/// dx = sum of dy over the windows whose largest input this is.
struct MaxPoolBackward {
  static constexpr const char* label = "max_pool_backward";
  PoolShape shape;
  PlaneCut cut;  ///< of the input
  const float* dy;
  const int* mask;
  float* dx;
  Buf in, in_mask, out;
  Depth depth;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PoolShape s = shape;
    c.lines(
        cut.lines(), depth,
        [&](i64 i) {
          const auto p = cut.part(i);
          const auto from = PoolSource::of_inputs(s, p);
          const i64 at = (p.plane * s.oh + from.y) * s.ow + from.x, rows = i64{p.planes} * from.rows;
          return both(c.get2d(in, dy + at, rows, from.cols, s.ow), c.get2d(in_mask, mask + at, rows, from.cols, s.ow));
        },
        [&](i64 i, auto& from) {
          const auto p = cut.part(i);
          const i64 rows = i64{p.planes} * p.rows;
          auto sum = c.out2d(out, dx + (p.plane * s.h + p.y) * s.w + p.x, rows, p.cols, s.w);
          c.each2d(rows, p.cols, [&](i64 r, i64 q) { sum.set(r, q, 0.0f); });
          visit_owners(c, s, p, [&](i64 r, i64 q, bool inside, int row, int col, int oy, int ox, int ky, int kx) {
            const int index = (oy * s.sh - s.ph + ky) * s.w + ox * s.sw - s.pw + kx;
            const auto old = sum.at(r, q);
            const auto mine = inside & (from.second(row, col) == index);
            sum.set(r, q, math::select(mine, old + from.first(row, col), old));
          });
          c.put(sum);
        });
  }
};

/// The mask as Caffe hands it out in a second top.
struct MaskToTop {
  static constexpr const char* label = "max_pool_mask";
  const int* mask;
  float* top;
  i64 n, block;
  Buf in, out;
  Depth depth;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    c.lines((n + block - 1) / block, depth,
            [&](i64 i) { return c.get(in, mask + i * block, math::min(block, n - i * block)); },
            [&](i64 i, auto& line) {
              auto q = c.out(out, top + i * block, line.n);
              c.each(line.n, [&](i64 j) { q.set(j, static_cast<float>(line[j])); });
              c.put(q);
            });
  }
};

/// y = sum of the inputs under the window / window_size; 0 for a window that lies outside the plane.
struct AveragePoolForward {
  static constexpr const char* label = "average_pool_forward";
  PoolShape shape;
  PlaneCut cut;  ///< of the output
  const float* x;
  float* y;
  Buf in, out;
  Depth depth;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PoolShape s = shape;
    c.lines(
        cut.lines(), depth, [&](i64 i) { return get_windows(c, s, cut.part(i), in, x); },
        [&](i64 i, auto& window) {
          const auto p = cut.part(i);
          const i64 rows = i64{p.planes} * p.rows;
          auto sum = c.out2d(out, y + (p.plane * s.oh + p.y) * s.ow + p.x, rows, p.cols, s.ow);
          c.each2d(rows, p.cols, [&](i64 r, i64 q) { sum.set(r, q, 0.0f); });
          visit_windows(c, s, p, window, [&](i64 r, i64 q, bool inside, auto value, int) {
            const auto old = sum.at(r, q);
            sum.set(r, q, math::select(inside, old + value, old));
          });
          c.each2d(rows, p.cols, [&](i64 r, i64 q) {
            const int size = s.window_size(p.y + static_cast<int>(r) % p.rows, p.x + static_cast<int>(q));
            sum.set(r, q, sum.at(r, q) / static_cast<float>(math::select(size == 0, 1, size)));
          });
          c.put(sum);
        });
  }
};

/// Training: y is one input of the window, drawn with the probability that its share of the window's sum is, mask its
/// index in the plane (Zeiler and Fergus 2013, equation 4; MaxPoolBackward is its gradient). Testing: the mean that
/// this draws, y = sum of x^2 / sum of x (their equation 6). Inputs are not negative; where all are zero, so is y.
template <bool train>
struct StochasticPoolForward {
  static constexpr const char* label = train ? "stochastic_pool_train" : "stochastic_pool_test";
  PoolShape shape;
  PlaneCut cut;  ///< of the output
  const float* x;
  float* y;
  float* sums;  ///< room for one value per output
  int* mask;    ///< null in testing
  std::uint64_t key;
  i64 first;  ///< number of output 0 in the random stream
  Buf in, out, out_sums, out_mask;
  Depth depth;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PoolShape s = shape;
    c.lines(
        cut.lines(), depth, [&](i64 i) { return get_windows(c, s, cut.part(i), in, x); },
        [&](i64 i, auto& window) {
          const auto p = cut.part(i);
          const i64 at = (p.plane * s.oh + p.y) * s.ow + p.x, rows = i64{p.planes} * p.rows;
          auto value = c.out2d(out, y + at, rows, p.cols, s.ow);
          auto sum = c.out2d(out_sums, sums + at, rows, p.cols, s.ow);
          c.each2d(rows, p.cols, [&](i64 r, i64 q) {
            value.set(r, q, 0.0f);
            sum.set(r, q, 0.0f);
          });
          visit_windows(c, s, p, window, [&](i64 r, i64 q, bool inside, auto v, int) {
            const auto here = math::select(inside, v, 0.0f);
            sum.set(r, q, sum.at(r, q) + here);
            value.set(r, q, value.at(r, q) + here * here);
          });
          if constexpr (train)
            draw(c, p, window, value, sum);
          else
            c.each2d(rows, p.cols, [&](i64 r, i64 q) {
              const auto total = sum.at(r, q);
              value.set(r, q, math::select(total == 0.0f, 0.0f, value.at(r, q) / total));
            });
          c.put(value);
          c.put(sum);
        });
  }

 private:
  /// The first input at which the running sum, added up in the same order, reaches a random share of the whole.
  template <class C, class Window, class Out>
  CORTADO_FN void draw(C& c, const PlaneCut::Part& p, const Window& window, Out& value, Out& sum) const {
    const PoolShape s = shape;
    const i64 at = (p.plane * s.oh + p.y) * s.ow + p.x, rows = i64{p.planes} * p.rows;
    const std::uint64_t stream = key;
    const i64 start = first + at, plane = i64{s.oh} * s.ow;
    auto who = c.out2d(out_mask, mask + at, rows, p.cols, s.ow);
    c.each2d(rows, p.cols, [&](i64 r, i64 q) {
      const i64 number = start + r / p.rows * plane + r % p.rows * s.ow + q;
      value.set(r, q, random_uniform(stream, static_cast<std::uint64_t>(number)) * sum.at(r, q));
      sum.set(r, q, 0.0f);
      who.set(r, q, -1);
    });
    visit_windows(c, s, p, window, [&](i64 r, i64 q, bool inside, auto v, int index) {
      const auto next = sum.at(r, q) + math::select(inside, v, 0.0f);
      const auto drawn = inside & (who.at(r, q) < 0) & (next >= value.at(r, q));
      sum.set(r, q, next);
      value.set(r, q, math::select(drawn, v, value.at(r, q)));
      who.set(r, q, math::select(drawn, index, who.at(r, q)));
    });
    c.put(who);
  }
};

/// dx = sum of dy / window_size over the windows that hold this input.
struct AveragePoolBackward {
  static constexpr const char* label = "average_pool_backward";
  PoolShape shape;
  PlaneCut cut;  ///< of the input
  const float* dy;
  float* dx;
  Buf in, out;
  Depth depth;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PoolShape s = shape;
    c.lines(
        cut.lines(), depth,
        [&](i64 i) {
          const auto p = cut.part(i);
          const auto from = PoolSource::of_inputs(s, p);
          return c.get2d(in, dy + (p.plane * s.oh + from.y) * s.ow + from.x, p.planes * from.rows, from.cols, s.ow);
        },
        [&](i64 i, auto& from) {
          const auto p = cut.part(i);
          const i64 rows = i64{p.planes} * p.rows;
          auto sum = c.out2d(out, dx + (p.plane * s.h + p.y) * s.w + p.x, rows, p.cols, s.w);
          c.each2d(rows, p.cols, [&](i64 r, i64 q) { sum.set(r, q, 0.0f); });
          visit_owners(c, s, p, [&](i64 r, i64 q, bool inside, int row, int col, int oy, int ox, int ky, int kx) {
            const auto old = sum.at(r, q);
            const bool mine = inside & (ky < s.kh) & (kx < s.kw);
            const auto share = from(row, col) / static_cast<float>(s.window_size(oy, ox));
            sum.set(r, q, math::select(mine, old + share, old));
          });
          c.put(sum);
        });
  }
};

/// Whole planes of `count` values, in lines of `line_planes` planes; planes longer than a scratchpad in pieces.
struct PlanePieces {
  i64 planes, count, line_planes, piece;

  CORTADO_FN i64 groups() const { return (planes + line_planes - 1) / line_planes; }
  CORTADO_FN i64 pieces() const { return (count + piece - 1) / piece; }
  CORTADO_FN i64 group_planes(i64 g) const { return math::min(line_planes, planes - g * line_planes); }
  CORTADO_FN i64 piece_count(i64 j) const { return math::min(piece, count - j * piece); }
  CORTADO_FN i64 offset(i64 g, i64 j) const { return g * line_planes * count + j * piece; }
};

/// Average over whole planes, one window each: y[p] = sum of plane p / divisor.
template <class T>
struct PlaneAverageForward {
  static constexpr const char* label = "plane_average_forward";
  PlanePieces at;
  const T* x;
  T* y;
  float divisor;
  Buf in, out;
  Depth depth;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    c.lines(
        at.groups(), Depth::one, [](i64 g) { return g; },
        [&](i64, i64 g) {
          auto q = c.out(out, y + g * at.line_planes, at.group_planes(g));
          c.each(q.n, [&](i64 p) { q.set(p, 0.0f); });
          c.pipeline(
              at.pieces(), depth,
              [&](i64 j) { return c.get2d(in, x + at.offset(g, j), q.n, at.piece_count(j), at.count); },
              [&](i64, auto& block) {
                for (i64 p = 0; p < block.rows; ++p) {
                  const auto sum = c.fold(
                      block.cols, 0.0f, [](auto a, auto b) { return a + b; }, [&](i64 i) { return block(p, i); });
                  c.once([&] { q.set(p, q.at(p) + sum); });
                }
              });
          c.each(q.n, [&](i64 p) { q.set(p, q.at(p) / divisor); });
          c.put(q);
        });
  }
};

/// dx = dy[p] / divisor all over plane p.
template <class T>
struct PlaneAverageBackward {
  static constexpr const char* label = "plane_average_backward";
  PlanePieces at;
  const T* dy;
  T* dx;
  float divisor;
  Buf in, out;
  Depth depth;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    c.lines(
        at.groups() * at.pieces(), depth,
        [&](i64 i) {
          const i64 g = i / at.pieces();
          return c.get(in, dy + g * at.line_planes, at.group_planes(g));
        },
        [&](i64 i, auto& line) {
          const i64 j = i % at.pieces(), cols = at.piece_count(j);
          auto q = c.out2d(out, dx + at.offset(i / at.pieces(), j), line.n, cols, at.count);
          c.each2d(line.n, cols, [&](i64 p, i64 e) { q.set(p, e, line[p] / divisor); });
          c.put(q);
        });
  }
};

}  // namespace cortado
