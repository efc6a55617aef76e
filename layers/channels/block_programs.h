#pragma once
#include "core/base/layout.h"
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// An array in blocks of sixteen channels (nchw16c), with one value per channel beside it. Pixels of a block are cut
/// into pieces of `piece` pixels.
struct BlockRows {
  i64 images, groups, pixels, piece;  ///< groups of sixteen channels

  CORTADO_FN i64 pieces() const { return (pixels + piece - 1) / piece; }
  /// Pieces that a group of channels has in all images, and that all groups have.
  CORTADO_FN i64 of_group() const { return images * pieces(); }
  CORTADO_FN i64 lines() const { return groups * of_group(); }
  CORTADO_FN i64 width(i64 i) const { return math::min(piece, pixels - i % pieces() * piece); }
  /// Where piece i of a group begins.
  CORTADO_FN i64 offset(i64 group, i64 i) const {
    return ((i / pieces() * groups + group) * pixels + i % pieces() * piece) * block_channels;
  }
  /// That piece of an array: a row for each pixel.
  template <class C, class T>
  CORTADO_FN auto get(C& c, Buf buf, const T* array, i64 group, i64 i) const {
    return c.get2d(buf, array + offset(group, i), width(i), block_channels, block_channels);
  }
};

/// Pixels of a block that follow each other: where the first one's sixteen channels begin in the array.
struct BlockRun {
  i64 place, pixels;
};

/// The values of a group's channels, for all lanes to read.
struct LaneValues {
  float v[block_channels];

  template <class Line>
  CORTADO_FN static LaneValues of(const Line& line) {
    LaneValues values{};
    for (i64 lane = 0; lane < block_channels; ++lane) values.v[lane] = line[lane];
    return values;
  }
  CORTADO_FN static LaneValues all(float value) {
    LaneValues values{};
    for (float& v : values.v) v = value;
    return values;
  }
  CORTADO_FN float operator[](i64 lane) const { return v[lane]; }
};

/// Two sums that are made in one pass.
template <class V>
struct TwoSums {
  V plain, product;
  CORTADO_FN TwoSums operator+(const TwoSums& o) const { return {plain + o.plain, product + o.product}; }
};

/// add(pixel, lane) for every pixel and lane of a piece, where `sum(lane, term)` is told the sum of `term` over the
/// pixels: eight at a time, whose sum stays in a register.
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
CORTADO_FN void add_distances(C& c, const X& x, i64 pixels, const LaneValues& pivot, Sums& sums) {
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
/// Of sums over parts of an array, [part][of values, of their squares][channels], those of a part and of sixteen
/// channels: to be written, or const ones to be read.
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

/// The other gradient of a blob with two readers, which one's gradient joins as it is made. Both pass the rectifier
/// that made the blob, `x`: where that is not positive they count `slope` times.
template <class T>
struct OtherGradient {
  const T* values;  ///< null: there is none
  const T* x;
  float slope;
  Buf values_buf, x_buf;

  /// Of `count` runs of pixels of a block, run i with `run(i)` the first one's place in the arrays and how many they
  /// are: to[place] = what value(i, pixel, lane) and the other gradient are together; `to` may be the other gradient.
  template <class C, class Run, class Value>
  CORTADO_FN void join(C& c, i64 count, Buf to_buf, T* to, const Run& run, const Value& value) const {
    const OtherGradient p = *this;
    c.pipeline(
        count, Depth::two,
        [&](i64 i) {
          const BlockRun at = run(i);
          return both(c.get2d(p.values_buf, p.values + at.place, at.pixels, block_channels, block_channels),
                      c.get2d(p.x_buf, p.x + at.place, at.pixels, block_channels, block_channels));
        },
        [&](i64 i, auto& in) {
          const BlockRun at = run(i);
          const auto &other = in.first, &x = in.second;
          const float slope = p.slope;
          auto q = c.out2d(to_buf, to + at.place, at.pixels, block_channels, block_channels);
          c.each2d(at.pixels, block_channels, [&](i64 r, i64 lane) {
            const auto v = value(i, r, lane) + other(r, lane);
            q.set(r, lane, math::select(x(r, lane) > 0.0f, v, slope * v));
          });
          c.put(q);
        });
  }
};

/// y = v where v > 0, slope v elsewhere, v = (x - shift[c]) scale[c] + bias[c]; any of the three may be null, not all;
/// y may be x.
template <class T>
struct BlockAffine {
  static constexpr const char* label = "block_affine";
  BlockRows s;
  const T* x;
  const float *shift, *scale, *bias;
  float slope;
  T* y;
  Buf x_buf, shift_buf, scale_buf, bias_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const BlockAffine p = *this;
    const float* const any = p.scale  ? p.scale
                             : p.bias ? p.bias
                                      : p.shift;  // to be fetched in place of what is not there
    c.lines(
        p.s.lines(), Depth::two,
        [&](i64 i) {
          const i64 group = i / p.s.of_group(), k = group * block_channels, piece = i % p.s.of_group();
          return both(p.s.get(c, p.x_buf, p.x, group, piece),
                      both(c.get(p.scale_buf, (p.scale ? p.scale : any) + k, block_channels),
                           both(c.get(p.shift_buf, (p.shift ? p.shift : any) + k, block_channels),
                                c.get(p.bias_buf, (p.bias ? p.bias : any) + k, block_channels))));
        },
        [&](i64 i, auto& in) {
          const i64 group = i / p.s.of_group(), piece = i % p.s.of_group(), pixels = p.s.width(piece);
          const auto x = in.first;
          const LaneValues scale = p.scale ? LaneValues::of(in.second.first) : LaneValues::all(1),
                           shift = p.shift ? LaneValues::of(in.second.second.first) : LaneValues::all(0),
                           bias = p.bias ? LaneValues::of(in.second.second.second) : LaneValues::all(0);
          const float slope = p.slope;
          auto y = c.out2d(p.y_buf, p.y + p.s.offset(group, piece), pixels, block_channels, block_channels);
          c.each2d(pixels, block_channels, [&](i64 r, i64 lane) {
            const auto v = (x(r, lane) - shift[lane]) * scale[lane] + bias[lane];
            y.set(r, lane, math::select(v > 0.0f, v, slope * v));
          });
          c.put(y);
        });
  }
};

/// plain[c] = sum dy and product[c] = sum dy x over each channel, added to what is there if `adds`. A line is a group
/// of channels.
template <class T>
struct BlockGradients {
  static constexpr const char* label = "block_gradients";
  BlockRows s;
  const T *x, *dy;
  float *plain, *product;
  bool adds;
  Buf x_buf, dy_buf, plain_buf, product_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const BlockGradients p = *this;
    c.lines(
        p.s.groups, Depth::one, [&](i64 group) { return group; },
        [&](i64 group, i64&) {
          const i64 k = group * block_channels;
          auto plain = c.update(p.plain_buf, p.plain + k, block_channels);
          auto product = c.update(p.product_buf, p.product + k, block_channels);
          if (!p.adds)
            c.each(block_channels, [&](i64 lane) {
              plain.set(lane, 0.0f);
              product.set(lane, 0.0f);
            });
          c.pipeline(
              p.s.of_group(), Depth::two,
              [&](i64 i) { return both(p.s.get(c, p.x_buf, p.x, group, i), p.s.get(c, p.dy_buf, p.dy, group, i)); },
              [&](i64 i, auto& in) {
                const auto x = in.first, dy = in.second;
                using V = decltype(dy(0, 0) * x(0, 0));
                add_pixels(
                    c, p.s.width(i),
                    [&](i64 pixel, i64 lane) {
                      const auto g = dy(pixel, lane);
                      return TwoSums<V>{g, g * x(pixel, lane)};
                    },
                    [&](i64 lane, const TwoSums<V>& sum) {
                      plain.set(lane, plain.at(lane) + sum.plain);
                      product.set(lane, product.at(lane) + sum.product);
                    });
              });
          c.put(plain);
          c.put(product);
        });
  }
};

/// sums[c] += sum dy over each channel. A line is a group of channels.
template <class T>
struct BlockSums {
  static constexpr const char* label = "block_sums";
  BlockRows s;
  const T* dy;
  float* sums;
  Buf dy_buf, sums_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const BlockSums p = *this;
    c.lines(
        p.s.groups, Depth::one, [&](i64 group) { return group; },
        [&](i64 group, i64&) {
          auto sums = c.update(p.sums_buf, p.sums + group * block_channels, block_channels);
          c.pipeline(
              p.s.of_group(), Depth::two, [&](i64 i) { return p.s.get(c, p.dy_buf, p.dy, group, i); },
              [&](i64 i, auto& dy) {
                add_pixels(
                    c, p.s.width(i), [&](i64 pixel, i64 lane) { return dy(pixel, lane); },
                    [&](i64 lane, auto sum) { sums.set(lane, sums.at(lane) + sum); });
              });
          c.put(sums);
        });
  }
};

/// dy = dy where y > 0, slope dy elsewhere; then as BlockSums.
template <class T>
struct BlockRectify {
  static constexpr const char* label = "block_rectify";
  BlockRows s;
  const T* y;
  T* dy;
  float* sums;
  float slope;
  Buf y_buf, dy_buf, rectified_buf, sums_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const BlockRectify p = *this;
    c.lines(
        p.s.groups, Depth::one, [&](i64 group) { return group; },
        [&](i64 group, i64&) {
          auto sums = c.update(p.sums_buf, p.sums + group * block_channels, block_channels);
          c.pipeline(
              p.s.of_group(), Depth::two,
              [&](i64 i) {
                const T* const dy = p.dy;
                return both(p.s.get(c, p.y_buf, p.y, group, i), p.s.get(c, p.dy_buf, dy, group, i));
              },
              [&](i64 i, auto& in) {
                const auto y = in.first, dy = in.second;
                const float slope = p.slope;
                const i64 pixels = p.s.width(i);
                auto g = c.out2d(p.rectified_buf, p.dy + p.s.offset(group, i), pixels, block_channels, block_channels);
                c.each2d(pixels, block_channels, [&](i64 r, i64 lane) {
                  const auto v = dy(r, lane);
                  g.set(r, lane, math::select(y(r, lane) > 0.0f, v, slope * v));
                });
                add_pixels(
                    c, pixels, [&](i64 pixel, i64 lane) { return g.at(pixel, lane); },
                    [&](i64 lane, auto sum) { sums.set(lane, sums.at(lane) + sum); });
                c.put(g);
              });
          c.put(sums);
        });
  }
};

}  // namespace cortado
