#pragma once
#include "layers/lrn/block_programs.h"
#include "layers/lrn/shape.h"

namespace cortado {

template <class T>
struct LrnForward {
  static constexpr const char* label = "lrn_forward";
  LrnShape s;
  const T* x;
  float* scale;
  T* y;
  Buf x_buf, scale_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const LrnForward p = *this;
    c.lines(
        p.s.lines(), Depth::two,
        [&](i64 i) {
          const auto part = p.s.part(i);
          return c.get2d(p.x_buf, p.x + part.offset, part.rows, part.cols, part.pitch);
        },
        [&](i64 i, auto& x) {
          const auto part = p.s.part(i);
          const LrnShape s = p.s;
          auto scale = c.out2d(p.scale_buf, p.scale + part.own_offset, part.own_rows, part.cols, part.pitch);
          auto y = c.out2d(p.y_buf, p.y + part.own_offset, part.own_rows, part.cols, part.pitch);
          s.with_power([&](auto power) {
            for (i64 row = 0; row < part.own_rows; ++row) {
              const Range this_row{row, row + 1}, cols{0, part.cols};
              c.each2d(this_row, cols, [&](i64 r, i64 q) { scale.set(r, q, s.k); });
              s.add_windows(c, part, row, row, s.share, scale, [&](i64 a, i64 b) { return x(a, b) * x(a, b); });
              c.each2d(this_row, cols,
                       [&](i64 r, i64 q) { y.set(r, q, x(r + part.own_first, q) * power(scale.at(r, q))); });
            }
          });
          c.put(scale);
          c.put(y);
        });
  }
};

/// The gradient across channels: dx = dy scale^-beta - 2 share beta x * sum of terms over the window, terms = dy x
/// scale^(-beta - 1), made when the first window meets them.
template <class T>
struct LrnBackwardAcross {
  static constexpr const char* label = "lrn_backward_across";
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
    c.lines(
        p.s.lines(), Depth::two,
        [&](i64 i) {
          const auto at = p.s.part(i);
          return both(c.get2d(p.x_buf, p.x + at.offset, at.rows, at.cols, at.pitch),
                      both(c.get2d(p.scale_buf, p.scale + at.offset, at.rows, at.cols, at.pitch),
                           c.get2d(p.dy_buf, p.dy + at.offset, at.rows, at.cols, at.pitch)));
        },
        [&](i64 i, auto& in) {
          const auto at = p.s.part(i);
          const LrnShape s = p.s;
          const auto x = in.first, scale = in.second.first, dy = in.second.second;
          auto ring = c.out2d(p.ring_buf, p.ring + i * s.ring_floats(), s.ring_rows() + 1, at.cols, at.cols);
          auto dx = c.out2d(p.dx_buf, p.dx + at.own_offset, at.rows, at.cols, at.pitch);
          i64 newest = 0;  // term that is not in the ring yet
          s.with_power([&](auto power) {
            for (i64 row = 0; row < at.rows; ++row) {
              for (; newest < math::min(at.rows, row + s.reach + 1); ++newest)
                s.add_term(c, ring, newest, at.cols, x, scale, dy, power);
              s.sum_ring(c, ring, row, at.rows, at.cols);
              c.each2d(Range{row, row + 1}, Range{0, at.cols}, [&](i64 r, i64 q) {
                dx.set(r, q, dy(r, q) * power(scale(r, q)) + x(r, q) * ring.at(s.ring_rows(), q));
              });
            }
          });
          c.put(dx);
          c.put(ring);
        });
  }
};

/// The gradient within a channel, first step, element by element: terms = dy x scale^(-beta - 1).
template <class T>
struct LrnTerms {
  static constexpr const char* label = "lrn_terms";
  LrnShape s;
  const T* x;
  const float* scale;
  const T* dy;
  float* terms;
  i64 n, block;
  Buf x_buf, scale_buf, dy_buf, terms_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const LrnTerms p = *this;
    c.lines((p.n + p.block - 1) / p.block, Depth::two,
            [&](i64 i) {
              const i64 at = i * p.block, n = math::min(p.block, p.n - at);
              return both(c.get(p.x_buf, p.x + at, n),
                          both(c.get(p.scale_buf, p.scale + at, n), c.get(p.dy_buf, p.dy + at, n)));
            },
            [&](i64 i, auto& in) {
              const auto x = in.first, scale = in.second.first, dy = in.second.second;
              auto terms = c.out(p.terms_buf, p.terms + i * p.block, x.n);
              p.s.with_power(
                  [&](auto power) { c.each(x.n, [&](i64 j) { terms.set(j, dy[j] * x[j] * power.next(scale[j])); }); });
              c.put(terms);
            });
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
    c.lines(
        p.s.lines(), Depth::two,
        [&](i64 i) {
          const auto at = p.s.part(i);
          const auto own = [&](Buf buf, const auto* from) {
            return c.get2d(buf, from + at.own_offset, at.own_rows, at.cols, at.pitch);
          };
          return both(both(c.get2d(p.terms_buf, p.terms + at.offset, at.rows, at.cols, at.pitch), own(p.x_buf, p.x)),
                      both(own(p.scale_buf, p.scale), own(p.dy_buf, p.dy)));
        },
        [&](i64 i, auto& in) {
          const auto at = p.s.part(i);
          const LrnShape s = p.s;
          const auto terms = in.first.first, x = in.first.second, scale = in.second.first, dy = in.second.second;
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
  }
};

}  // namespace cortado
