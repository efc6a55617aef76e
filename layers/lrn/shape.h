#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// x^(-1/4) of a positive, normal x within 1.25 ulp; 0 for inf. It begins with an estimate by the exponent, 3 % off at
/// most. Two steps of y += y (h / 4 + 5 h^2 / 32), h = 1 - x y^4, follow; each one's error is the cube of the one
/// before.
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
/// The powers for beta 3/4, the usual one, without a root, a division or a call, so that they vectorise.
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
/// block that holds all neighbours of its own elements. - Across channels: all channels of `block` pixels of an image,
/// windows along the rows of the block.
/// - Within a channel: `block` rows of a plane with `reach` more on either side, windows of (2 reach + 1)^2 pixels.
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

  /// The elements that a line reads, and those of them that it writes.
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
  /// sums(to, q) += share * f(a, q) for the rows a of a window and the columns q of a range. It takes a few rows at a
  /// time, whose sum stays in a register. A window's last row stands, times 0, for those beyond it.
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
  /// Terms of the gradient's windows take turns in a ring; the row behind them is a window's sum.
  CORTADO_FN i64 ring_rows() const { return math::min(2 * reach + 1, channels); }
  CORTADO_FN i64 ring_floats() const { return (ring_rows() + 1) * block; }
  /// ring = dy x scale^(-beta - 1) of channel `row`.
  template <class C, class Ring, class X, class Scale, class Dy, class Power>
  CORTADO_FN void add_term(C& c, Ring& ring, i64 row, i64 cols, const X& x, const Scale& scale, const Dy& dy,
                           Power power) const {
    const i64 turn = row % ring_rows();
    c.each2d(Range{turn, turn + 1}, Range{0, cols},
             [&](i64 r, i64 q) { ring.set(r, q, dy(row, q) * x(row, q) * power.next(scale(row, q))); });
  }
  /// The sum of the terms in the window of channel `row`, of `rows`.
  template <class C, class Ring>
  CORTADO_FN void sum_ring(C& c, Ring& ring, i64 row, i64 rows, i64 cols) const {
    const i64 turns = ring_rows();
    c.each2d(Range{turns, turns + 1}, Range{0, cols}, [&](i64 r, i64 q) { ring.set(r, q, 0.0f); });
    add_rows(c, ring, turns, Range{0, cols}, window(row, rows), gradient_share(),
             [&](i64 a, i64 q) { return ring.at(a % turns, q); });
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

}  // namespace cortado
