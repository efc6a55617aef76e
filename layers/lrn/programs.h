#pragma once
#include "core/base/layout.h"
#include "core/machine/elementwise.h"
#include "layers/lrn/shape.h"

namespace cortado {

/// A line's view of an array of images: lines work on rows that are channels, whose columns are pixels. In planes they
/// lie so. In blocks (across channels only) they are turned on their way in, and sixteen rows at a time on their way
/// back.
template <bool blocks>
struct LrnLines {
  static constexpr Depth depth = blocks ? Depth::one : Depth::two;

  /// The values of an array that a line reads.
  template <class C, class T>
  CORTADO_FN static auto get(C& c, Buf buf, const T* array, const LrnShape& s, i64 line) {
    const auto at = s.part(line);
    if constexpr (blocks)
      return c.stage(buf, turned(array, s, line));
    else
      return c.get2d(buf, array + at.offset, at.rows, at.cols, at.pitch);
  }
  /// Rows of its own that go back together.
  CORTADO_FN static i64 together(const LrnShape::Part& at) { return blocks ? block_channels : at.own_rows; }
  /// That many rows, of which `first` is the first.
  template <class C, class T>
  CORTADO_FN static auto out(C& c, Buf buf, T* array, const LrnShape& s, i64 line, i64 first) {
    const auto at = s.part(line);
    if constexpr (blocks) {
      T* const to =
          array + (line / s.blocks() * s.channels + first) * s.plane() + line % s.blocks() * s.block * block_channels;
      return c.out_turned(buf, to, block_channels, at.cols, block_channels, at.cols);
    } else {
      return c.out2d(buf, array + at.own_offset, at.own_rows, at.cols, at.pitch);
    }
  }

 private:
  template <class T>
  CORTADO_FN static Box<T> turned(const T* array, const LrnShape& s, i64 line) {
    Box<T> box;
    box.base = array + line / s.blocks() * s.channels * s.plane();
    const i64 extent[4] = {1, s.channels / block_channels, block_channels, s.plane()},
              pitch[4] = {0, s.plane() * block_channels, 1, block_channels};
    const i64 origin[4] = {0, 0, 0, line % s.blocks() * s.block}, size[4] = {1, extent[1], block_channels, s.block};
    box.set(extent, pitch, origin, size);
    return box;
  }
};

/// y = x scale^-beta, and the scale, in planes.
template <bool blocks, class T>
struct LrnForward {
  static constexpr const char* label = blocks ? "lrn_blocks_forward" : "lrn_forward";
  using Lines = LrnLines<blocks>;
  LrnShape s;
  const T* x;
  float* scale;
  T* y;
  Buf x_buf, scale_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const LrnForward p = *this;
    const auto fetch = [&](i64 i) { return Lines::get(c, p.x_buf, p.x, p.s, i); };
    c.lines(p.s.lines(), Lines::depth, fetch, [&](i64 i, auto& in) {
      const auto part = p.s.part(i);
      const LrnShape s = p.s;
      const auto x = in;
      const Range cols{0, part.cols};
      auto scale = c.out2d(p.scale_buf, p.scale + part.own_offset, part.own_rows, part.cols, part.pitch);
      s.with_power([&](auto power) {
        for (i64 first = 0; first < part.own_rows; first += Lines::together(part)) {
          auto y = Lines::out(c, p.y_buf, p.y, s, i, first);
          for (i64 row = first; row < first + Lines::together(part); ++row) {
            c.each2d(Range{row, row + 1}, cols, [&](i64 r, i64 q) { scale.set(r, q, s.k); });
            s.add_windows(c, part, row, row, s.share, scale, [&](i64 a, i64 b) { return x(a, b) * x(a, b); });
            c.each2d(Range{row - first, row - first + 1}, cols, [&](i64 r, i64 q) {
              y.set(r, q, x(r + first + part.own_first, q) * power(scale.at(r + first, q)));
            });
          }
          c.put(y);
        }
      });
      c.put(scale);
    });
  }
};

/// The gradient across channels: dx = dy scale^-beta - 2 share beta x * sum of terms over the window, terms = dy x
/// scale^(-beta - 1), made when the first window meets them.
template <bool blocks, class T>
struct LrnBackwardAcross {
  static constexpr const char* label = blocks ? "lrn_blocks_backward" : "lrn_backward_across";
  using Lines = LrnLines<blocks>;
  LrnShape s;
  const T* x;
  const float* scale;
  const T* dy;
  T* dx;
  float* ring;  ///< s.ring_floats() for each line
  Buf x_buf, scale_buf, dy_buf, dx_buf, ring_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const LrnBackwardAcross p = *this;
    const auto fetch = [&](i64 i) {
      const auto at = p.s.part(i);
      return gather(Lines::get(c, p.x_buf, p.x, p.s, i),
                    c.get2d(p.scale_buf, p.scale + at.offset, at.rows, at.cols, at.pitch),
                    Lines::get(c, p.dy_buf, p.dy, p.s, i));
    };
    const auto work = named([&](i64 i, auto x, auto scale, auto dy) {
      const auto at = p.s.part(i);
      const LrnShape s = p.s;
      auto ring = c.out2d(p.ring_buf, p.ring + i * s.ring_floats(), s.ring_rows() + 1, at.cols, at.cols);
      i64 newest = 0;  // term that is not in the ring yet
      s.with_power([&](auto power) {
        for (i64 first = 0; first < at.own_rows; first += Lines::together(at)) {
          auto dx = Lines::out(c, p.dx_buf, p.dx, s, i, first);
          for (i64 row = first; row < first + Lines::together(at); ++row) {
            for (; newest < math::min(at.rows, row + s.reach + 1); ++newest)
              s.add_term(c, ring, newest, at.cols, x, scale, dy, power);
            s.sum_ring(c, ring, row, at.rows, at.cols);
            c.each2d(Range{row - first, row - first + 1}, Range{0, at.cols}, [&](i64 r, i64 q) {
              const i64 from = r + first;
              dx.set(r, q, dy(from, q) * power(scale(from, q)) + x(from, q) * ring.at(s.ring_rows(), q));
            });
          }
          c.put(dx);
        }
      });
      c.put(ring);
    });
    c.lines(p.s.lines(), Lines::depth, fetch, work);
  }
};

/// The gradient within a channel, first step: dy x scale^(-beta - 1).
template <class Power>
struct LrnTerms {
  static constexpr const char* label = "lrn_terms";
  Power power;
  template <class V>
  CORTADO_FN auto operator()(V x, V scale, V dy) const {
    return dy * x * power.next(scale);
  }
};

/// The second: dx = dy scale^-beta - 2 share beta x * sum of terms over the window.
template <class T>
struct LrnBackwardWithin {
  static constexpr const char* label = "lrn_backward_within";
  LrnShape s;
  const T* x;
  const float *scale, *terms;
  const T* dy;
  T* dx;
  float* sums;  ///< a row for each line
  Buf x_buf, scale_buf, terms_buf, dy_buf, dx_buf, sums_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const LrnBackwardWithin p = *this;
    const auto fetch = [&](i64 i) {
      const auto at = p.s.part(i);
      const auto own = [&](Buf buf, const auto* from) {
        return c.get2d(buf, from + at.own_offset, at.own_rows, at.cols, at.pitch);
      };
      return gather(c.get2d(p.terms_buf, p.terms + at.offset, at.rows, at.cols, at.pitch), own(p.x_buf, p.x),
                    own(p.scale_buf, p.scale), own(p.dy_buf, p.dy));
    };
    const auto work = named([&](i64 i, auto terms, auto x, auto scale, auto dy) {
      const auto at = p.s.part(i);
      const LrnShape s = p.s;
      auto sums = c.out2d(p.sums_buf, p.sums + i * s.width, 1, at.cols, at.cols);
      auto dx = c.out2d(p.dx_buf, p.dx + at.own_offset, at.own_rows, at.cols, at.pitch);
      const Range cols{0, at.cols};
      s.with_power([&](auto power) {
        for (i64 row = 0; row < at.own_rows; ++row) {
          c.each2d(Range{0, 1}, cols, [&](i64 r, i64 q) { sums.set(r, q, 0.0f); });
          s.add_windows(c, at, row, 0, s.gradient_share(), sums, [&](i64 a, i64 b) { return terms(a, b); });
          c.each2d(Range{row, row + 1}, cols,
                   [&](i64 r, i64 q) { dx.set(r, q, dy(r, q) * power(scale(r, q)) + x(r, q) * sums.at(0, q)); });
        }
      });
      c.put(dx);
      c.put(sums);
    });
    c.lines(p.s.lines(), Depth::two, fetch, work);
  }
};

}  // namespace cortado
