#pragma once
#include "core/base/layout.h"
#include "core/machine/gather.h"
#include "core/machine/integers.h"
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// One level of Strassen's algorithm (Numerische Mathematik 13, 1969). A product of matrices in quadrants, C = A B,
/// takes seven products of sums of quadrants instead of eight products. Quadrants count 0 to 3: 11, 12, 21, 22.
namespace strassen {

constexpr i64 products = 7;
constexpr i64 right_sums = 5;  ///< sums of B's quadrants; products 1 and 4 multiply one quadrant

/// One quadrant, and another one that is added to it (sign 1), subtracted (-1) or absent (0).
struct Pair {
  i64 first, second;
  float sign;
  CORTADO_FN bool is_one() const { return sign == 0.0f; }
};

/// The quadrants of A that a product multiplies.
CORTADO_FN inline Pair of_left(i64 product) {
  switch (product) {
    case 0: return {0, 3, 1};
    case 1: return {2, 3, 1};
    case 2: return {0, 0, 0};
    case 3: return {3, 3, 0};
    case 4: return {0, 1, 1};
    case 5: return {2, 0, -1};
    default: return {1, 3, -1};
  }
}
/// The quadrants of B that a product multiplies.
CORTADO_FN inline Pair of_right(i64 product) {
  switch (product) {
    case 0: return {0, 3, 1};
    case 1: return {0, 0, 0};
    case 2: return {1, 3, -1};
    case 3: return {2, 0, -1};
    case 4: return {3, 3, 0};
    case 5: return {0, 1, 1};
    default: return {2, 3, 1};
  }
}
/// The number of a product's sum among those of B.
CORTADO_FN inline i64 right_sum(i64 product) { return product - (product > 1) - (product > 4); }
/// The quadrants of C to which a product is added: the first, and the second times its sign. Products 0 to 2 are the
/// first to meet both, the first, the first.
CORTADO_FN inline Pair of_result(i64 product) {
  switch (product) {
    case 0: return {0, 3, 1};
    case 1: return {2, 3, -1};
    case 2: return {1, 3, 1};
    case 3: return {0, 2, 1};
    case 4: return {1, 0, -1};
    case 5: return {3, 3, 0};
    default: return {0, 0, 0};
  }
}

}  // namespace strassen

/// Activations in blocks as a matrix in quadrants: channels by pixels, or the other way round, both in halves. Pixels
/// come in runs of `cols` of an image. A half is a run of each of `images` images, and halves go in pairs. Behind the
/// last one there are zeros.
struct StrassenPixels {
  const float* x;
  i64 all_images, channels, plane;
  i64 images, cols;  ///< of a half
  bool turned;       ///< pixels by channels
  Buf quadrant_buf[2], line_buf, sum_buf;

  CORTADO_FN i64 runs() const { return ceil_div(plane, cols); }  ///< of an image
  CORTADO_FN i64 pairs() const { return ceil_div(ceil_div(all_images, images) * runs(), i64{2}); }
  CORTADO_FN i64 pixels() const { return images * cols; }                  ///< of a half
  CORTADO_FN i64 blocks() const { return channels / block_channels / 2; }  ///< of a half of the channels

  /// A run of a half: its image, its first pixel, and its pixels, 0 beyond the last image.
  struct Run {
    i64 image, col, cols;
  };
  CORTADO_FN Run run(i64 half, i64 i) const {
    const i64 image = half / runs() * images + i, col = half % runs() * cols;
    return {image, col, image < all_images ? math::min(cols, plane - col) : 0};
  }
  /// The begin of a channel block's run in x, or in an array like it.
  CORTADO_FN i64 place(const Run& run, i64 block) const {
    return ((run.image * 2 * blocks() + block) * plane + run.col) * block_channels;
  }

  /// Calls work(operand) with the operand of a product, `count` blocks from block `first` on of a half. `view` reads it
  /// as [block][pixel][channel].
  template <class C, class Work>
  CORTADO_FN void with_left(C& c, i64 pair, const strassen::Pair& wanted, i64 first, i64 count, LeftView view,
                            const Work& work) const {
    if (wanted.is_one()) {
      auto operand = c.stage_a(quadrant_buf[0], box(pair, wanted.first, first, count), view);
      return work(operand);
    }
    auto operand = c.left(sum(c, pair, wanted, first, count), view);
    work(operand);
  }
  template <class C, class Work>
  CORTADO_FN void with_right(C& c, i64 pair, const strassen::Pair& wanted, i64 first, i64 count, RightView view,
                             const Work& work) const {
    if (wanted.is_one()) {
      auto operand = c.stage_b(quadrant_buf[0], box(pair, wanted.first, first, count), view);
      return work(operand);
    }
    auto operand = c.right(sum(c, pair, wanted, first, count), view);
    work(operand);
  }

  /// Makes all sums that products multiply on the right, in one pass: [right_sum][block][pixel][channel].
  template <class C>
  CORTADO_FN auto right_sums(C& c, i64 pair, i64 first, i64 count) const {
    const StrassenPixels p = *this;
    auto sums = c.template block<float>(sum_buf, strassen::right_sums * count * pixels(), block_channels);
    c.pipeline(
        count * images, Depth::two,
        [&](i64 i) {
          return gather(p.line(c, pair, 0, first, i), p.line(c, pair, 1, first, i), p.line(c, pair, 2, first, i),
                        p.line(c, pair, 3, first, i));
        },
        named([&](i64 i, const auto& q0, const auto& q1, const auto& q2, const auto& q3) {
          const i64 whole = math::min(math::min(q0.n, q1.n), math::min(q2.n, q3.n)) / block_channels;
          const i64 row = i * p.cols, apart = count * p.pixels();
          const auto set = [&](i64 pixel, i64 lane, auto v0, auto v1, auto v2, auto v3) {
            sums.set(row + pixel, lane, v0 + v3);
            sums.set(row + pixel + apart, lane, v1 - v3);
            sums.set(row + pixel + 2 * apart, lane, v2 - v0);
            sums.set(row + pixel + 3 * apart, lane, v0 + v1);
            sums.set(row + pixel + 4 * apart, lane, v2 + v3);
          };
          for (i64 pixel = 0; pixel < whole; ++pixel)
            c.each(block_channels, [&](i64 lane) {
              const i64 e = pixel * block_channels + lane;
              set(pixel, lane, q0[e], q1[e], q2[e], q3[e]);
            });
          for (i64 pixel = whole; pixel < p.cols; ++pixel)
            c.each(block_channels, [&](i64 lane) {
              const i64 e = pixel * block_channels + lane;
              const auto value = [&](const auto& q) { return e < q.n ? q[e] : decltype(q[0] + q[0])(0.0f); };
              set(pixel, lane, value(q0), value(q1), value(q2), value(q3));
            });
        }));
    return sums;
  }
  /// The first or the last quadrant, which products multiply as they are.
  template <class C>
  CORTADO_FN auto quadrant(C& c, i64 pair, i64 i, i64 first, i64 count, LeftView view) const {
    return c.stage_a(quadrant_buf[i / 3], box(pair, i, first, count), view);
  }

 private:
  CORTADO_FN i64 half_of_channels(i64 quadrant) const { return turned ? quadrant % 2 : quadrant / 2; }
  CORTADO_FN i64 half_of_pixels(i64 quadrant) const { return turned ? quadrant / 2 : quadrant % 2; }

  template <class C>
  CORTADO_FN auto line(C& c, i64 pair, i64 quadrant, i64 first, i64 i) const {
    const Run at = run(2 * pair + half_of_pixels(quadrant), i % images);
    const i64 block = half_of_channels(quadrant) * blocks() + first + i / images;
    return c.get(line_buf, x + (at.cols > 0 ? place(at, block) : 0), at.cols * block_channels);
  }

  CORTADO_FN Box<float> box(i64 pair, i64 quadrant, i64 first, i64 count) const {
    const Run begin = run(2 * pair + half_of_pixels(quadrant), 0);
    const i64 row = plane * block_channels;
    Box<float> box;
    box.base = x;
    const i64 extent[4] = {2 * blocks(), all_images, 1, row}, pitch[4] = {row, 2 * blocks() * row, row, 1};
    const i64 origin[4] = {half_of_channels(quadrant) * blocks() + first, begin.image, 0, begin.col * block_channels},
              size[4] = {count, images, 1, cols * block_channels};
    box.set(extent, pitch, origin, size);
    return box;
  }

  template <class C>
  CORTADO_FN auto sum(C& c, i64 pair, const strassen::Pair& wanted, i64 first, i64 count) const {
    const StrassenPixels p = *this;
    auto sum = c.template block<float>(sum_buf, count * pixels(), block_channels);
    const float sign = wanted.sign;
    c.pipeline(
        count * images, Depth::two,
        [&](i64 i) {
          return gather(p.line(c, pair, wanted.first, first, i), p.line(c, pair, wanted.second, first, i));
        },
        named([&](i64 i, const auto& a, const auto& b) {
          const i64 of_a = a.n / block_channels, of_b = b.n / block_channels, shared = math::min(of_a, of_b);
          const auto set = [&](Range pixels, auto value) {
            for (i64 pixel = pixels.first; pixel < pixels.end; ++pixel)
              c.each(block_channels,
                     [&](i64 lane) { sum.set(i * p.cols + pixel, lane, value(pixel * block_channels + lane)); });
          };
          set({0, shared}, [&](i64 e) { return a[e] + sign * b[e]; });
          set({shared, of_a}, [&](i64 e) { return a[e]; });
          set({shared, of_b}, [&](i64 e) { return sign * b[e]; });
          set({math::max(of_a, of_b), p.cols}, [](i64) { return 0.0f; });
        }));
    return sum;
  }
};

}  // namespace cortado
