#pragma once
#include "layers/channels/parts.h"
#include "layers/channels/sums.h"

namespace cortado {

/// Which of its two passes over a channel a program makes: measures it, applies what was measured, or both.
enum class NormalisePass { measure, apply, both };

/// Two sums over each channel of a group, made piece by piece, and what becomes of them in two arrays with one value
/// per channel. Pieces in planes are folded in float and added in double; those in blocks are summed by themselves
/// first.
template <i64 block, class To>
struct PieceSums;

template <class To>
struct PieceSums<1, To> {
  static constexpr i64 values_of_moments = 3, values_of_sums = 2;  ///< that a part leaves
  To first, second;
  double plain = 0, product = 0;

  template <class C>
  CORTADO_FN void clear(C&) {
    plain = product = 0;
  }
  /// Adds the terms of piece i, TwoSums by (row, column).
  template <class C, class Parts, class Term>
  CORTADO_FN void add(C& c, Parts& /*parts*/, const ChannelLines<1>& s, i64 i, Term term) {
    if constexpr (has_own_lanes<C>) {
      c.each2d_own(s.rows(i), s.width(i), [&](i64 r, i64 q) {
        const auto sum = term(r, q);
        plain += sum.plain;
        product += sum.product;
      });
    } else {
      plain += s.own_sum(c, i, [&](i64 r, i64 q) { return term(r, q).plain; });
      product += s.own_sum(c, i, [&](i64 r, i64 q) { return term(r, q).product; });
    }
  }
  /// Joins the sums that lanes keep for themselves. It comes after the last piece.
  template <class C>
  CORTADO_FN void join(C& c) {
    plain = join_lanes(c, plain);
    product = join_lanes(c, product);
  }
  /// The mean of the first terms of piece i: of its first row, of which a team of lanes takes one each.
  template <class C, class Parts, class Term>
  CORTADO_FN ChannelValues<1> mean_of(C& c, Parts& /*parts*/, const ChannelLines<1>& s, i64 i, Term term) {
    const i64 most = has_own_lanes<C> ? OwnLanes<C>::count : s.width(i), few = math::min(s.width(i), most);
    const auto sum = join_lanes(c, s.own_sum(c, 1, few, [&](i64 r, i64 q) { return term(r, q).plain; }));
    return ChannelValues<1>::all(static_cast<float>(sum) / static_cast<float>(few));
  }
  /// The arrays get the sums.
  template <class C>
  CORTADO_FN void settle(C& c) {
    set(c, static_cast<float>(plain), static_cast<float>(product));
  }
  /// The arrays get mean and variance, where the sums are distances from the pivot, and their squares, of n values.
  template <class C>
  CORTADO_FN void settle_moments(C& c, i64 n, const ChannelValues<1>& pivot) {
    const double count = static_cast<double>(n), apart = plain / count;
    set(c, static_cast<float>(pivot[0] + apart), static_cast<float>(math::max(0.0, product / count - apart * apart)));
  }
  /// Values go to a part's place instead: three for moments of the part's n values, where the sums are as for
  /// settle_moments, namely the pivot, the mean's distance from it, and the sum of squared distances from the mean.
  /// Sums go as they are.
  template <class C>
  CORTADO_FN void leave_moments(C& c, const ChannelParts& parts, i64 group, i64 part, i64 n, float pivot) const {
    const double apart = plain / static_cast<double>(n);
    parts.leave(c, group, part, pivot, static_cast<float>(apart),
                static_cast<float>(math::max(0.0, product - apart * plain)));
  }
  template <class C>
  CORTADO_FN void leave(C& c, const ChannelParts& parts, i64 group, i64 part) const {
    parts.leave(c, group, part, static_cast<float>(plain), static_cast<float>(product));
  }
  template <class C>
  CORTADO_FN void put(C& c) {
    c.put(first);
    c.put(second);
  }

 private:
  template <class C>
  CORTADO_FN void set(C& c, float a, float b) {
    c.once([&] {
      first.set(0, a);
      second.set(0, b);
    });
  }
};

template <class To>
struct PieceSums<block_channels, To> {
  /// That a part leaves, in rows: its two sums, for moments the pivots, and two rows of room.
  static constexpr i64 values_of_moments = 5 * block_channels, values_of_sums = 4 * block_channels;
  To first, second;

  template <class C>
  CORTADO_FN void clear(C& c) {
    c.each(block_channels, [&](i64 lane) {
      first.set(lane, 0.0f);
      second.set(lane, 0.0f);
    });
  }
  template <class C, class Parts, class Term>
  CORTADO_FN void add(C& c, Parts& parts, const ChannelLines<block_channels>& s, i64 i, Term term) {
    sum_piece(c, parts, s.width(i), term);
    add_part(c, [&](i64 r, i64 lane) { return parts.at(r, lane); });
  }
  template <class C, class Parts, class Term>
  CORTADO_FN ChannelValues<block_channels> mean_of(C& c, Parts& parts, const ChannelLines<block_channels>& s, i64 i,
                                                   Term term) {
    const i64 pixels = s.width(i);
    sum_piece(c, parts, pixels, term);
    ChannelValues<block_channels> means{};
    const float share = 1.0f / static_cast<float>(pixels);
    c.each(block_channels, [&](i64 lane) { means.v[lane] = parts.at(0, lane) * share; });
    return means;
  }
  template <class C>
  CORTADO_FN void join(C&) {}
  template <class C>
  CORTADO_FN void settle(C&) {}
  template <class C>
  CORTADO_FN void settle_moments(C& c, i64 n, const ChannelValues<block_channels>& pivot) {
    const float share = 1.0f / static_cast<float>(n);
    c.each(block_channels, [&](i64 lane) {
      const auto apart = first.at(lane) * share;
      first.set(lane, pivot[lane] + apart);
      second.set(lane, math::max(0.0f, second.at(lane) * share - apart * apart));
    });
  }
  /// Adds sums over a part that are there already.
  template <class C, class Part>
  CORTADO_FN void add_part(C& c, const Part& part) {
    c.each(block_channels, [&](i64 lane) {
      first.set(lane, first.at(lane) + part(0, lane));
      second.set(lane, second.at(lane) + part(1, lane));
    });
  }
  /// Makes moments of a part's n values of sums that are as for settle_moments: the mean's distance from the pivot, and
  /// the sum of squared distances from the mean.
  template <class C>
  CORTADO_FN void leave_moments(C& c, i64 n) {
    const float share = 1.0f / static_cast<float>(n);
    c.each(block_channels, [&](i64 lane) {
      const auto sum = first.at(lane), apart = sum * share;
      first.set(lane, apart);
      second.set(lane, math::max(0.0f, second.at(lane) - apart * sum));
    });
  }
  /// The same where all parts' mean and variance are known.
  template <class C>
  CORTADO_FN void leave_known_moments(C& c, i64 n) {
    const float values = static_cast<float>(n);
    c.each(block_channels, [&](i64 lane) { second.set(lane, second.at(lane) * values); });
  }
  template <class C>
  CORTADO_FN void put(C& c) {
    c.put(first);
    c.put(second);
  }

 private:
  template <class C, class Parts, class Term>
  CORTADO_FN static void sum_piece(C& c, Parts& parts, i64 pixels, Term term) {
    clear_sums(c, parts);
    add_pixels(c, pixels, term, [&](i64 lane, auto sum) {
      parts.set(0, lane, parts.at(0, lane) + sum.plain);
      parts.set(1, lane, parts.at(1, lane) + sum.product);
    });
  }
};

/// The destinations of sums of pieces: arrays with one value per channel, and room for two values per channel beside
/// them.
struct SumPlaces {
  float *first, *second, *parts;
  Buf first_buf, second_buf, parts_buf;

  template <i64 block, class C>
  CORTADO_FN auto sums(C& c, const ChannelLines<block>& s, i64 group) const {
    auto a = s.update_values(c, first_buf, first, group), b = s.update_values(c, second_buf, second, group);
    return PieceSums<block, decltype(a)>{a, b};
  }
  /// The sums of a part of a group in blocks. They follow each other at `place`.
  template <class C>
  CORTADO_FN auto sums_at(C& c, float* place) const {
    auto a = c.update(first_buf, place, block_channels),
         b = c.update(second_buf, place + block_channels, block_channels);
    return PieceSums<block_channels, decltype(a)>{a, b};
  }
  /// The memory that pieces of a group in blocks are summed in, two rows.
  template <i64 block>
  CORTADO_FN float* room(i64 group) const {
    return parts + group * 2 * block;
  }
  /// Calls work(parts) with such memory.
  template <i64 block, class C, class Work>
  CORTADO_FN void with_parts(C& c, const ChannelLines<block>&, float* at, Work work) const {
    if constexpr (block == 1) {
      int none = 0;
      work(none);
    } else {
      auto own = c.out2d(parts_buf, at, 2, block, block);
      work(own);
      c.put(own);
    }
  }
};

}  // namespace cortado
