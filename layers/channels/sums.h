#pragma once
#include "core/machine/sums.h"
#include "layers/channels/lines.h"

namespace cortado {

/// The sums of one pass: one value, or two.
template <class V>
struct OneSum {
  V plain;
  CORTADO_FN OneSum operator+(const OneSum& o) const { return {plain + o.plain}; }
};
template <class V>
struct TwoSums {
  V plain, product;
  CORTADO_FN TwoSums operator+(const TwoSums& o) const { return {plain + o.plain, product + o.product}; }
};

/// add(pixel, lane) for every pixel and lane of a piece in blocks, where `sum(lane, term)` is told the sum of `term`
/// over the pixels: eight at a time, whose sum stays in a register.
template <class C, class Term, class Sum>
CORTADO_FN void add_pixels(C& c, i64 pixels, Term term, Sum sum) {
  constexpr i64 together = 8;
  i64 pixel = 0;
  for (; pixel + together <= pixels; pixel += together)
    c.each(block_channels, [&](i64 lane) {
      const i64 p = pixel;
      sum(lane, ((term(p, lane) + term(p + 1, lane)) + (term(p + 2, lane) + term(p + 3, lane))) +
                    ((term(p + 4, lane) + term(p + 5, lane)) + (term(p + 6, lane) + term(p + 7, lane))));
    });
  for (; pixel < pixels; ++pixel) c.each(block_channels, [&](i64 lane) { sum(lane, term(pixel, lane)); });
}

/// Adds x(pixel, lane)'s distances from the pivot, and their squares, to the two rows of `sums`.
template <class C, class X, class Sums>
CORTADO_FN void add_distances(C& c, const X& x, i64 pixels, const ChannelValues<block_channels>& pivot, Sums& sums) {
  using V = decltype(x(0, 0) * x(0, 0));
  add_pixels(
      c, pixels,
      [&](i64 pixel, i64 lane) {
        const auto apart = x(pixel, lane) - pivot[lane];
        return TwoSums<V>{apart, apart * apart};
      },
      [&](i64 lane, const TwoSums<V>& sum) {
        sums.set(0, lane, sums.at(0, lane) + sum.plain);
        sums.set(1, lane, sums.at(1, lane) + sum.product);
      });
}
/// The sums of a part and of sixteen channels, in sums over parts of an array, [part][2][channels] of values and of
/// their squares. They are written, or, if const, read.
template <class C>
CORTADO_FN auto part_sums(C& c, Buf buf, float* sums, i64 channels, i64 part, i64 channel) {
  return c.out2d(buf, sums + part * 2 * channels + channel, 2, block_channels, channels);
}
template <class C>
CORTADO_FN auto part_sums(C& c, Buf buf, const float* sums, i64 channels, i64 part, i64 channel) {
  return c.get2d(buf, sums + part * 2 * channels + channel, 2, block_channels, channels);
}
/// Makes both rows zero.
template <class C, class Sums>
CORTADO_FN void clear_sums(C& c, Sums& sums) {
  c.each2d(2, block_channels, [&](i64 r, i64 lane) { sums.set(r, lane, 0.0f); });
}

/// A sum over the channels of a group, which pieces add to; `to` is the group's part of an array with one value per
/// channel. Planes fold a piece in float and add pieces in double; blocks add eight pixels at a time to `to` itself.
template <i64 block, class To>
struct ChannelSum {
  To to;
  double total = 0;

  /// Begins with zero, or with what is there if it `adds`.
  template <class C>
  CORTADO_FN void begin(C& c, bool adds) {
    if (block > 1 && !adds) ChannelLines<block>::each_channel(c, [&](i64 q) { to.set(q, 0.0f); });
  }
  template <class C, class Term>
  CORTADO_FN void fold(C& c, const ChannelLines<1>& s, i64 i, Term term) {
    total += s.own_sum(c, i, term);
  }
  template <class V>
  CORTADO_FN void add(i64 lane, V sum) {
    to.set(lane, to.at(lane) + sum);
  }
  template <class C>
  CORTADO_FN void end(C& c, bool adds) {
    if constexpr (block == 1) {
      const double sum = join_lanes(c, total);
      c.once([&] { to.set(0, (adds ? to.at(0) : 0.0f) + static_cast<float>(sum)); });
    }
    c.put(to);
  }
};

template <i64 block, class C>
CORTADO_FN auto channel_sum(C& c, const ChannelLines<block>& s, Buf buf, float* array, i64 group) {
  auto to = s.update_values(c, buf, array, group);
  return ChannelSum<block, decltype(to)>{to};
}

/// Adds the terms of piece i, term(row, column), to one sum or to two.
template <i64 block, class C, class To, class Term>
CORTADO_FN void add_piece(C& c, const ChannelLines<block>& s, i64 i, Term term, ChannelSum<block, To>& plain) {
  if constexpr (block == 1)
    plain.fold(c, s, i, [&](i64 r, i64 q) { return term(r, q).plain; });
  else
    add_pixels(c, s.width(i), term, [&](i64 lane, auto sum) { plain.add(lane, sum.plain); });
}
template <i64 block, class C, class To, class Term>
CORTADO_FN void add_piece(C& c, const ChannelLines<block>& s, i64 i, Term term, ChannelSum<block, To>& plain,
                          ChannelSum<block, To>& product) {
  if constexpr (block == 1) {
    plain.fold(c, s, i, [&](i64 r, i64 q) { return term(r, q).plain; });
    product.fold(c, s, i, [&](i64 r, i64 q) { return term(r, q).product; });
  } else {
    add_pixels(c, s.width(i), term, [&](i64 lane, auto sum) {
      plain.add(lane, sum.plain);
      product.add(lane, sum.product);
    });
  }
}

}  // namespace cortado
