#pragma once
#include <type_traits>

#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// scale^-beta, for the beta that everybody uses by two square roots, which vectorise. Calls f(power).
template <class F>
CORTADO_FN void with_power(float beta, F f) {
  if (beta == 0.75f)
    return f([](auto scale) {
      const auto root = math::sqrt(scale);
      return 1.0f / (root * math::sqrt(root));
    });
  f([beta](auto scale) { return math::pow(scale, -beta); });
}

/// Local response normalisation: scale = k + share * sum of x^2 over a window, y = x scale^-beta. A line works on a
/// block that holds all the neighbours its own elements need: across channels: all channels of `block` pixels of an
/// image, windows along the rows of the block; within a channel: `block` rows of a plane with `reach` more on either
/// side, windows of (2 reach + 1)^2 pixels.
struct LrnShape {
  bool across;
  i64 images, channels, height, width, block, reach;
  float share, k, beta;

  CORTADO_FN i64 plane() const { return height * width; }
  CORTADO_FN i64 blocks() const { return across ? (plane() + block - 1) / block : (height + block - 1) / block; }
  CORTADO_FN i64 lines() const { return (across ? images : images * channels) * blocks(); }

  /// Elements that a line owns and that it reads, at most.
  CORTADO_FN i64 owned() const { return across ? channels * block : block * width; }
  CORTADO_FN i64 read() const { return across ? owned() : math::min(height, block + 2 * reach) * width; }

  /// What a line reads and what of it is its own to write.
  struct Part {
    i64 offset, rows, cols, pitch;        // read
    i64 own_offset, own_first, own_rows;  // written: rows [own_first, own_first + own_rows) of those read
  };
  CORTADO_FN Part part(i64 line) const {
    if (across) {
      const i64 first = line % blocks() * block, at = line / blocks() * channels * plane() + first;
      return {at, channels, math::min(block, plane() - first), plane(), at, 0, channels};
    }
    const i64 first = line % blocks() * block, rows = math::min(block, height - first);
    const i64 top = math::max(i64{0}, first - reach), end = math::min(height, first + rows + reach);
    const i64 at = line / blocks() * plane();
    return {at + top * width, end - top, width, width, at + first * width, first - top, rows};
  }
  /// sums(r, q) += share f(r, q, a, b) for the places (a, b) in the window of each element that the line owns, as far
  /// as they lie in the block: one pass for each place in the window, a row at a time, so that rows stay in registers'
  /// reach.
  template <class C, class Sums, class F>
  CORTADO_FN void add_windows(C& c, const Part& p, float share, Sums& sums, F f) const {
    const i64 reach_q = across ? 0 : reach;
    for (i64 r = 0; r < p.own_rows; ++r) {
      const i64 at = r + p.own_first;
      for (i64 a = math::max(i64{0}, at - reach); a < math::min(p.rows, at + reach + 1); ++a)
        for (i64 b = -reach_q; b <= reach_q; ++b)
          c.each2d(Range{r, r + 1}, Range{math::max(i64{0}, -b), math::min(p.cols, p.cols - b)},
                   [&](i64 row, i64 q) { sums.set(row, q, sums.at(row, q) + share * f(row, q, a, q + b)); });
    }
  }
};

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
          c.each2d(part.own_rows, part.cols, [&](i64 r, i64 q) { scale.set(r, q, s.k); });
          s.add_windows(c, part, s.share, scale, [&](i64, i64, i64 a, i64 b) { return x(a, b) * x(a, b); });
          with_power(s.beta, [&](auto power) {
            c.each2d(part.own_rows, part.cols,
                     [&](i64 r, i64 q) { y.set(r, q, x(r + part.own_first, q) * power(scale.at(r, q))); });
          });
          c.put(scale);
          c.put(y);
        });
  }
};

/// The gradient's first step, element by element: the part of dx that needs no neighbours, direct = dy scale^-beta, and
/// what the window sums run over, terms = direct x / scale.
template <class T>
struct LrnTerms {
  static constexpr const char* label = "lrn_terms";
  const T* x;
  const float* scale;
  const T* dy;
  float *terms, *direct;
  float beta;
  i64 n, block;
  Buf x_buf, scale_buf, dy_buf, terms_buf, direct_buf;

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
              auto direct = c.out(p.direct_buf, p.direct + i * p.block, x.n);
              with_power(p.beta, [&](auto power) {
                c.each(x.n, [&](i64 j) {
                  const auto y = dy[j] * power(scale[j]);
                  terms.set(j, y * x[j] / scale[j]);
                  direct.set(j, y);
                });
              });
              c.put(terms);
              c.put(direct);
            });
  }
};

/// The second: dx = direct - 2 share beta x * sum of terms over the window, summed up as float where direct is; that is
/// dx itself unless dx is stored as something else.
template <class T>
struct LrnBackward {
  static constexpr const char* label = "lrn_backward";
  static constexpr bool in_place = std::is_same<T, float>::value;
  LrnShape s;
  const T* x;
  const float* terms;
  float* sums;
  T* dx;
  Buf x_buf, terms_buf, direct_buf, sums_buf, dx_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const LrnBackward p = *this;
    c.lines(
        p.s.lines(), Depth::two,
        [&](i64 i) {
          const auto part = p.s.part(i);
          return both(c.get2d(p.terms_buf, p.terms + part.offset, part.rows, part.cols, part.pitch),
                      both(c.get2d(p.x_buf, p.x + part.own_offset, part.own_rows, part.cols, part.pitch),
                           c.get2d(p.direct_buf, p.sums + part.own_offset, part.own_rows, part.cols, part.pitch)));
        },
        [&](i64 i, auto& in) {
          const auto part = p.s.part(i);
          const LrnShape s = p.s;
          const auto terms = in.first, x = in.second.first, direct = in.second.second;
          auto sums = c.out2d(p.sums_buf, p.sums + part.own_offset, part.own_rows, part.cols, part.pitch);
          c.each2d(part.own_rows, part.cols, [&](i64 r, i64 q) { sums.set(r, q, direct(r, q)); });
          s.add_windows(c, part, -2.0f * s.share * s.beta, sums,
                        [&](i64 r, i64 q, i64 a, i64 b) { return x(r, q) * terms(a, b); });
          if constexpr (!in_place) {
            auto dx = c.out2d(p.dx_buf, p.dx + part.own_offset, part.own_rows, part.cols, part.pitch);
            c.each2d(part.own_rows, part.cols, [&](i64 r, i64 q) { dx.set(r, q, sums.at(r, q)); });
            c.put(dx);
          }
          c.put(sums);
        });
  }
};

}  // namespace cortado
