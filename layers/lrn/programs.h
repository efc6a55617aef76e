#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// x^(-1/4) of a positive, normal x within 1.25 ulp; 0 for inf. An estimate by the exponent, 3 % off at most, and two
/// steps of y += y (h / 4 + 5 h^2 / 32), h = 1 - x y^4, whose error is the cube of the one before.
template <class V>
CORTADO_FN auto inverse_fourth_root(V x) {
  auto y = math::float_of(0x4F586000u - (math::bits_of(x) >> 2));
  for (int step = 0; step < 2; ++step) {
    const auto square = y * y, h = 1.0f - x * (square * square);
    y = y + y * h * (0.25f + 0.15625f * h);
  }
  return math::select(x > 3.0e38f, V(0.0f), V(y));
}

/// Powers of a scale: power(scale) = scale^-beta, power.next(scale) = scale^(-beta - 1).
struct AnyPower {
  float beta;
  template <class V>
  CORTADO_FN auto operator()(V scale) const {
    return math::pow(scale, -beta);
  }
  template <class V>
  CORTADO_FN auto next(V scale) const {
    return math::pow(scale, -beta) / scale;
  }
};
/// Those of the beta that everybody uses, without a root, a division or a call, so that they vectorise.
struct ThreeQuarters {
  template <class V>
  CORTADO_FN auto operator()(V scale) const {
    const auto root = inverse_fourth_root(scale);
    return root * root * root;
  }
  template <class V>
  CORTADO_FN auto next(V scale) const {
    const auto root = inverse_fourth_root(scale), square = root * root;
    return square * root * square * square;
  }
};

/// Local response normalisation: scale = k + share * sum of x^2 over a window, y = x scale^-beta. A line works on a
/// block that holds all the neighbours its own elements need: across channels: all channels of `block` pixels of an
/// image, windows along the rows of the block; within a channel: `block` rows of a plane with `reach` more on either
/// side, windows of (2 reach + 1)^2 pixels.
struct LrnShape {
  bool across;
  i64 images, channels, height, width, block, reach;
  float share, k, beta;

  /// Calls f with the powers that fit; roots are of normal numbers only.
  template <class F>
  CORTADO_FN void with_power(F f) const {
    if (beta == 0.75f && k >= 1.17549435e-38f) return f(ThreeQuarters{});
    f(AnyPower{beta});
  }

  CORTADO_FN i64 plane() const { return height * width; }
  CORTADO_FN i64 blocks() const { return across ? (plane() + block - 1) / block : (height + block - 1) / block; }
  CORTADO_FN i64 lines() const { return (across ? images : images * channels) * blocks(); }

  CORTADO_FN float gradient_share() const { return -2.0f * share * beta; }

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
  /// sums(to, q) += share * f(a, q) for the rows a of a window and the columns q of a range: a few rows at a time,
  /// whose sum stays in a register. A window's last row stands, times 0, for those beyond it.
  template <class C, class Sums, class F>
  CORTADO_FN static void add_rows(C& c, Sums& sums, i64 to, Range cols, Range window, float share, F f) {
    constexpr i64 together = 5;
    for (i64 first = window.first; first < window.end; first += together) {
      i64 row[together];
      float weight[together];
      for (i64 j = 0; j < together; ++j) {
        row[j] = math::min(first + j, window.end - 1);
        weight[j] = first + j < window.end ? share : 0.0f;
      }
      const i64 r0 = row[0], r1 = row[1], r2 = row[2], r3 = row[3], r4 = row[4];
      const float w0 = weight[0], w1 = weight[1], w2 = weight[2], w3 = weight[3], w4 = weight[4];
      c.each2d(Range{to, to + 1}, cols, [&](i64 r, i64 q) {
        sums.set(r, q, sums.at(r, q) + w0 * f(r0, q) + w1 * f(r1, q) + w2 * f(r2, q) + w3 * f(r3, q) + w4 * f(r4, q));
      });
    }
  }
  /// The rows within reach of `row`, of `rows`.
  CORTADO_FN Range window(i64 row, i64 rows) const {
    return {math::max(i64{0}, row - reach), math::min(rows, row + reach + 1)};
  }
  /// sums(to, q) += share * f(a, b) for the places (a, b) in the window of each element of the row `row` of those that
  /// the line owns, as far as they lie in the block.
  template <class C, class Sums, class F>
  CORTADO_FN void add_windows(C& c, const Part& p, i64 row, i64 to, float share, Sums& sums, F f) const {
    const i64 reach_q = across ? 0 : reach;
    for (i64 b = -reach_q; b <= reach_q; ++b)
      add_rows(c, sums, to, Range{math::max(i64{0}, -b), math::min(p.cols, p.cols - b)},
               window(row + p.own_first, p.rows), share, [&](i64 a, i64 q) { return f(a, q + b); });
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
/// scale^(-beta - 1). Terms of the rows in reach, made when the first window meets them, take turns in a ring; the row
/// behind them is the window's sum.
template <class T>
struct LrnBackwardAcross {
  static constexpr const char* label = "lrn_backward_across";
  LrnShape s;
  const T* x;
  const float* scale;
  const T* dy;
  T* dx;
  float* ring;  ///< ring_floats() for each line
  Buf x_buf, scale_buf, dy_buf, dx_buf, ring_buf;

  CORTADO_FN i64 ring_rows() const { return math::min(2 * s.reach + 1, s.channels); }
  CORTADO_FN i64 ring_floats() const { return (ring_rows() + 1) * s.block; }

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
          const i64 turns = p.ring_rows();
          auto ring = c.out2d(p.ring_buf, p.ring + i * p.ring_floats(), turns + 1, at.cols, at.cols);
          auto dx = c.out2d(p.dx_buf, p.dx + at.own_offset, at.rows, at.cols, at.pitch);
          const Range cols{0, at.cols}, sum{turns, turns + 1};
          s.with_power([&](auto power) {
            for (i64 newest = 0; newest < at.rows + s.reach; ++newest) {
              const i64 turn = newest % turns, row = newest - s.reach;
              if (newest < at.rows)
                c.each2d(Range{turn, turn + 1}, cols, [&](i64 r, i64 q) {
                  ring.set(r, q, dy(newest, q) * x(newest, q) * power.next(scale(newest, q)));
                });
              if (row < 0) continue;
              c.each2d(sum, cols, [&](i64 r, i64 q) { ring.set(r, q, 0.0f); });
              LrnShape::add_rows(c, ring, turns, cols, s.window(row, at.rows), s.gradient_share(),
                                 [&](i64 a, i64 q) { return ring.at(a % turns, q); });
              c.each2d(Range{row, row + 1}, cols, [&](i64 r, i64 q) {
                dx.set(r, q, dy(r, q) * power(scale(r, q)) + x(r, q) * ring.at(turns, q));
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
