#pragma once
#include "core/base/layout.h"
#include "core/machine/gather.h"
#include "core/machine/math.h"
#include "core/machine/program.h"
#include "core/machine/sums.h"

namespace cortado {

/// A line or an output of one row, with the operations of a block of rows.
template <class Line>
struct OneRow {
  Line line;
  CORTADO_FN auto operator()(i64, i64 q) const { return line[q]; }
};
template <class Out>
struct OneOutRow {
  Out line;
  template <class V>
  CORTADO_FN void set(i64, i64 q, V value) {
    line.set(q, value);
  }
  CORTADO_FN auto at(i64, i64 q) const { return line.at(q); }
};

/// The values of a group's channels, for all lanes to read.
template <i64 block>
struct ChannelValues {
  float v[block];

  template <class Line>
  CORTADO_FN static ChannelValues of(const Line& line) {
    return made([&](i64 q) { return static_cast<float>(line[q]); });
  }
  CORTADO_FN static ChannelValues all(float value) {
    return made([&](i64) { return value; });
  }
  /// f(channel) for each.
  template <class F>
  CORTADO_FN static ChannelValues made(F f) {
    ChannelValues values{};
    for (i64 q = 0; q < block; ++q) values.v[q] = f(q);
    return values;
  }
  /// The value for column q of a piece.
  CORTADO_FN float operator[](i64 q) const { return v[block == 1 ? 0 : q]; }
};

/// An array whose channels lie in groups of `block`, the innermost ones in memory, with one value per channel beside
/// it:
///
///   block = 1   planes, images x channels x pixels. A piece is one row: columns are pixels of one channel.
///   block = 16  blocks, images x groups x pixels x 16. A row is a pixel: columns are channels.
///
/// Pixels of a group are cut into pieces of `piece` pixels; all images have of_group() pieces of a group. Where lanes
/// run the program on their own, small planes of `stacked` images are one piece: its rows are images.
template <i64 channels_together>
struct ChannelLines {
  static constexpr i64 block = channels_together;
  using Values = ChannelValues<block>;
  i64 images, groups, pixels, piece, stacked = 1;

  /// Pieces of an image. Whole images, which devices have, do without a division here and below.
  CORTADO_FN i64 pieces() const { return is_whole() ? 1 : (pixels + piece - 1) / piece; }
  CORTADO_FN bool is_whole() const { return pixels <= piece; }
  CORTADO_FN i64 of_group() const { return (images + stacked - 1) / stacked * pieces(); }
  CORTADO_FN i64 lines() const { return groups * of_group(); }
  CORTADO_FN i64 channels() const { return groups * block; }
  /// Values of a channel, and of the largest piece.
  CORTADO_FN i64 of_channel() const { return images * pixels; }
  CORTADO_FN i64 values() const { return piece * block; }

  /// Pixels of piece i of a group in an image, its images, and where it begins in the array.
  CORTADO_FN i64 width(i64 i) const { return math::min(piece, pixels - column(i)); }
  CORTADO_FN i64 rows(i64 i) const { return math::min(stacked, images - image(i)); }
  CORTADO_FN i64 offset(i64 group, i64 i) const { return ((image(i) * groups + group) * pixels + column(i)) * block; }
  /// Its first image, and the first pixel there.
  CORTADO_FN i64 image(i64 i) const { return (is_whole() ? i : i / pieces()) * stacked; }
  CORTADO_FN i64 column(i64 i) const { return is_whole() ? 0 : i % pieces() * piece; }
  /// Values of a channel in the pieces before piece i of its group.
  CORTADO_FN i64 before(i64 i) const { return math::min(images, image(i)) * pixels + column(i); }
  /// Group and piece of a line, where lines follow the memory.
  CORTADO_FN i64 group(i64 line) const { return line / pieces() % groups; }
  CORTADO_FN i64 in_group(i64 line) const { return line / pieces() / groups * pieces() + line % pieces(); }

  /// That piece of an array.
  template <class C, class T>
  CORTADO_FN auto get(C& c, Buf buf, const T* array, i64 group, i64 i) const {
    if constexpr (block == 1 && has_own_lanes<C>) {
      return c.get2d(buf, array + offset(group, i), rows(i), width(i), groups * pixels);
    } else if constexpr (block == 1) {
      auto line = c.get(buf, array + offset(group, i), width(i));
      return OneRow<decltype(line)>{line};
    } else {
      return c.get2d(buf, array + offset(group, i), width(i), block, block);
    }
  }
  template <class C, class T>
  CORTADO_FN auto out(C& c, Buf buf, T* array, i64 group, i64 i) const {
    if constexpr (block == 1 && has_own_lanes<C>) {
      return c.out2d(buf, array + offset(group, i), rows(i), width(i), groups * pixels);
    } else if constexpr (block == 1) {
      auto line = c.out(buf, array + offset(group, i), width(i));
      return OneOutRow<decltype(line)>{line};
    } else {
      return c.out2d(buf, array + offset(group, i), width(i), block, block);
    }
  }
  template <class C, class Out>
  CORTADO_FN static void put(C& c, Out& out) {
    if constexpr (block == 1 && !has_own_lanes<C>)
      c.put(out.line);
    else
      c.put(out);
  }
  /// f(row, column) for the values of piece i.
  template <class C, class F>
  CORTADO_FN void each(C& c, i64 i, F f) const {
    if constexpr (block == 1 && has_own_lanes<C>)
      c.each2d(rows(i), width(i), f);
    else if constexpr (block == 1)
      c.each(width(i), [&](i64 q) { f(0, q); });
    else
      c.each2d(width(i), block, f);
  }
  /// The sum of term(row, column) over piece i, in planes: of the lane's own values where lanes have such.
  template <class C, class Term>
  CORTADO_FN auto own_sum(C& c, i64 i, Term term) const {
    return own_sum(c, rows(i), width(i), term);
  }
  /// The same over its first rows and columns.
  template <class C, class Term>
  CORTADO_FN auto own_sum(C& c, i64 first_rows, i64 first_columns, Term term) const {
    if constexpr (has_own_lanes<C>) {
      double sum = 0;
      c.each2d_own(first_rows, first_columns, [&](i64 r, i64 q) { sum += term(r, q); });
      return sum;
    } else {
      return sum_of(c, first_columns, [&](i64 q) { return term(0, q); });
    }
  }

  /// The values of a group's channels in an array with one per channel, to be read or to be changed.
  template <class C>
  CORTADO_FN static auto get_values(C& c, Buf buf, const float* array, i64 group) {
    return c.get(buf, array + group * block, block);
  }
  template <class C>
  CORTADO_FN static auto update_values(C& c, Buf buf, float* array, i64 group) {
    return c.update(buf, array + group * block, block);
  }
  /// Changes them: value(channel, old).
  template <class C, class F>
  CORTADO_FN static void change(C& c, Buf buf, float* array, i64 group, F value) {
    auto values = update_values(c, buf, array, group);
    each_channel(c, [&](i64 q) { values.set(q, value(q, values.at(q))); });
    c.put(values);
  }
  template <class C, class F>
  CORTADO_FN static void each_channel(C& c, F f) {
    if constexpr (block == 1)
      c.once([&] { f(0); });
    else
      c.each(block, f);
  }
};

}  // namespace cortado
