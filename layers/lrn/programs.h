#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

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
  /// Sum of f(row, column) over the window of (r, q) as far as it lies in the block.
  template <class F>
  CORTADO_FN float window(const Part& p, i64 r, i64 q, F f) const {
    float sum = 0;
    const i64 r0 = math::max(i64{0}, r - reach), r1 = math::min(p.rows, r + reach + 1);
    const i64 q0 = across ? q : math::max(i64{0}, q - reach), q1 = across ? q + 1 : math::min(p.cols, q + reach + 1);
    for (i64 a = r0; a < r1; ++a)
      for (i64 b = q0; b < q1; ++b) sum += f(a, b);
    return sum;
  }
};

struct LrnForward {
  static constexpr const char* label = "lrn_forward";
  LrnShape s;
  const float* x;
  float *scale, *y;
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
          c.each2d(part.own_rows, part.cols, [&](i64 r, i64 q) {
            const float squares =
                s.window(part, r + part.own_first, q, [&](i64 a, i64 b) { return x(a, b) * x(a, b); });
            scale.set(r, q, s.k + s.share * squares);
          });
          c.each2d(part.own_rows, part.cols,
                   [&](i64 r, i64 q) { y.set(r, q, x(r + part.own_first, q) * math::pow(scale.at(r, q), -s.beta)); });
          c.put(scale);
          c.put(y);
        });
  }
};

/// The gradient's first step, element by element: with u = scale^(-beta - 1), what the window sums run over,
/// terms = dy x u, and the part of dx that needs no neighbours, direct = dy u scale. The power is taken once an
/// element.
struct LrnTerms {
  static constexpr const char* label = "lrn_terms";
  const float *x, *scale, *dy;
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
              const float exponent = -p.beta - 1.0f;
              const auto x = in.first, scale = in.second.first, dy = in.second.second;
              auto terms = c.out(p.terms_buf, p.terms + i * p.block, x.n);
              auto direct = c.out(p.direct_buf, p.direct + i * p.block, x.n);
              c.each(x.n, [&](i64 j) {
                const auto u = dy[j] * math::pow(scale[j], exponent);
                terms.set(j, u * x[j]);
                direct.set(j, u * scale[j]);
              });
              c.put(terms);
              c.put(direct);
            });
  }
};

/// The second: dx = direct - 2 share beta x * sum of terms over the window; dx is where direct is.
struct LrnBackward {
  static constexpr const char* label = "lrn_backward";
  LrnShape s;
  const float *x, *terms;
  float* dx;
  Buf x_buf, terms_buf, direct_buf, dx_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const LrnBackward p = *this;
    c.lines(
        p.s.lines(), Depth::two,
        [&](i64 i) {
          const auto part = p.s.part(i);
          return both(c.get2d(p.terms_buf, p.terms + part.offset, part.rows, part.cols, part.pitch),
                      both(c.get2d(p.x_buf, p.x + part.own_offset, part.own_rows, part.cols, part.pitch),
                           c.get2d(p.direct_buf, p.dx + part.own_offset, part.own_rows, part.cols, part.pitch)));
        },
        [&](i64 i, auto& in) {
          const auto part = p.s.part(i);
          const LrnShape s = p.s;
          const auto terms = in.first, x = in.second.first, direct = in.second.second;
          auto dx = c.out2d(p.dx_buf, p.dx + part.own_offset, part.own_rows, part.cols, part.pitch);
          c.each2d(part.own_rows, part.cols, [&](i64 r, i64 q) {
            const float sum = s.window(part, r + part.own_first, q, [&](i64 a, i64 b) { return terms(a, b); });
            dx.set(r, q, direct(r, q) - 2.0f * s.share * s.beta * x(r, q) * sum);
          });
          c.put(dx);
        });
  }
};

}  // namespace cortado
