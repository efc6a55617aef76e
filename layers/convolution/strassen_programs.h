#pragma once
#include "core/machine/math.h"
#include "core/machine/parts.h"
#include "core/machine/program.h"
#include "layers/channels/block_programs.h"
#include "layers/convolution/set_or_add.h"

namespace cortado {

/// One level of Strassen's algorithm (Numerische Mathematik 13, 1969): a product of matrices in quadrants, C = A B, by
/// seven products of sums of quadrants where there were eight. Quadrants count 0 to 3: 11, 12, 21, 22.
namespace strassen {

constexpr i64 products = 7;
constexpr i64 right_sums = 5;  ///< sums of B's quadrants; products 1 and 4 multiply one quadrant

/// One quadrant, and another one that is added to it (sign 1), taken from it (-1) or not there (0).
struct Pair {
  i64 first, second;
  float sign;
  CORTADO_FN bool is_one() const { return sign == 0.0f; }
};

/// What of A a product multiplies.
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
/// What of B.
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
/// Which sum it is among those of B.
CORTADO_FN inline i64 right_sum(i64 product) { return product - (product > 1) - (product > 4); }
/// The quadrants of C that a product is added to: the first, and the second times its sign. What products 0 to 2 are
/// the first to meet: both, the first, the first.
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
/// come in runs of `cols` of an image; a half is a run of each of `images` images, and halves go in pairs. Beyond the
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

  /// A run of a half: of which image, which of its pixels, and how many, 0 beyond the last image.
  struct Run {
    i64 image, col, cols;
  };
  CORTADO_FN Run run(i64 half, i64 i) const {
    const i64 image = half / runs() * images + i, col = half % runs() * cols;
    return {image, col, image < all_images ? math::min(cols, plane - col) : 0};
  }
  /// Where a run of a block of channels begins in x, or in an array like it.
  CORTADO_FN i64 place(const Run& run, i64 block) const {
    return ((run.image * 2 * blocks() + block) * plane + run.col) * block_channels;
  }

  /// Calls work(operand) with what a product multiplies of `count` blocks from block `first` on of a half, as `view`
  /// reads [block][pixel][channel].
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

  /// All sums that products multiply on the right, in one pass: [right_sum][block][pixel][channel].
  template <class C>
  CORTADO_FN auto right_sums(C& c, i64 pair, i64 first, i64 count) const {
    const StrassenPixels p = *this;
    auto sums = c.template block<float>(sum_buf, strassen::right_sums * count * pixels(), block_channels);
    c.pipeline(
        count * images, Depth::two,
        [&](i64 i) {
          return both(both(p.line(c, pair, 0, first, i), p.line(c, pair, 1, first, i)),
                      both(p.line(c, pair, 2, first, i), p.line(c, pair, 3, first, i)));
        },
        [&](i64 i, auto& in) {
          const auto &q0 = in.first.first, &q1 = in.first.second, &q2 = in.second.first, &q3 = in.second.second;
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
        });
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
        [&](i64 i) { return both(p.line(c, pair, wanted.first, first, i), p.line(c, pair, wanted.second, first, i)); },
        [&](i64 i, auto& in) {
          const auto& a = in.first;
          const auto& b = in.second;
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
        });
    return sum;
  }
};

/// What Strassen's products multiply of weights, outputs by terms in quadrants: [panel of a half of the
/// outputs][product][term of a half][lane].
struct StrassenPanels {
  i64 outputs, terms;               ///< all of them
  static constexpr i64 panel = 32;  ///< outputs
  static constexpr i64 line = 64;   ///< terms that are made together, at most

  CORTADO_FN i64 panels() const { return outputs / 2 / panel; }
  CORTADO_FN i64 matrix() const { return terms / 2 * panel; }
  CORTADO_FN i64 floats() const { return panels() * strassen::products * matrix(); }
  CORTADO_FN i64 place(i64 panel_index, i64 product) const {
    return (panel_index * strassen::products + product) * matrix();
  }
};

/// Weights (of a kernel of one pixel) to StrassenPanels. A line is some terms of a panel.
struct StrassenWeights {
  static constexpr const char* label = "strassen_weights";
  const float* w;
  i64 output_pitch, term_pitch;  ///< in w
  float* to;
  StrassenPanels s;
  Buf from_buf[4], to_buf;

  CORTADO_FN i64 chunks() const { return ceil_div(s.terms / 2, s.line); }
  CORTADO_FN i64 lines() const { return s.panels() * chunks(); }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const StrassenWeights p = *this;
    c.lines(
        p.lines(), Depth::one,
        [&](i64 line) {
          return both(both(p.quadrant(c, line, 0), p.quadrant(c, line, 1)),
                      both(p.quadrant(c, line, 2), p.quadrant(c, line, 3)));
        },
        [&](i64 line, auto& in) {
          const auto of = [&](i64 quadrant) {
            const auto& row = quadrant < 2 ? in.first : in.second;
            return quadrant % 2 == 0 ? row.first : row.second;
          };
          const i64 first = line % p.chunks() * p.s.line, terms = math::min(p.s.line, p.s.terms / 2 - first),
                    panel = p.s.panel;
          for (i64 product = 0; product < strassen::products; ++product) {
            const auto pair = strassen::of_left(product);
            auto q = c.out_streamed(p.to_buf, p.to + p.s.place(line / p.chunks(), product) + first * panel, terms,
                                    panel, panel);
            const auto a = of(pair.first), b = of(pair.second);
            const float sign = pair.sign;
            if (pair.is_one())
              c.each2d(terms, panel, [&](i64 r, i64 lane) { q.set(r, lane, a(r, lane)); });
            else
              c.each2d(terms, panel, [&](i64 r, i64 lane) { q.set(r, lane, a(r, lane) + sign * b(r, lane)); });
            c.put(q);
          }
        });
  }

 private:
  template <class C>
  CORTADO_FN auto quadrant(C& c, i64 line, i64 q) const {
    Box<float> box = Box<float>::matrix(
        w, s.terms, s.outputs, term_pitch, q % 2 * (s.terms / 2) + line % chunks() * s.line,
        q / 2 * (s.outputs / 2) + line / chunks() * s.panel, math::min(s.line, s.terms / 2), s.panel);
    box.pitch[3] = output_pitch;
    return c.stage(from_buf[q], box);
  }
};

/// y = w x, a kernel of one pixel, or an input gradient. A tile is a pair of halves of pixels by a share of the panels
/// of both halves of outputs: for a slice of terms sums of quadrants of inputs, then panel by panel the seven products,
/// which join the sums of their quadrants.
struct StrassenForward {
  static constexpr const char* label = "strassen_forward";
  static constexpr i64 panel_blocks = StrassenPanels::panel / block_channels;
  StrassenPixels in;
  const float* w;  ///< StrassenPanels
  StrassenPanels panels;
  i64 slice;   ///< blocks of terms of a half, whose sums of quadrants stay in a cache
  i64 shares;  ///< of panels
  float* y;
  float* sums;  ///< for each pair of halves of pixels, as DirectForward's; null: none
  OtherGradient<float> other;
  Buf w_buf, product_buf, acc_buf, y_buf, sums_buf;

  CORTADO_FN i64 tiles() const { return in.pairs() * shares; }
  CORTADO_FN i64 slices() const { return ceil_div(in.blocks(), slice); }
  /// Panels whose sums are kept at a time: those of a tile, if they take several slices of terms.
  CORTADO_FN i64 kept_panels() const { return slices() == 1 ? 1 : ceil_div(panels.panels(), shares); }
  /// Rows of the sums of a panel, [quadrant][block of outputs][pixel].
  CORTADO_FN i64 panel_rows() const { return 4 * panel_blocks * in.pixels(); }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const StrassenForward p = *this;
    c.tiles(p.tiles(), [&](i64 tile) {
      const i64 share = tile % p.shares, all = p.panels.panels();
      const Tile at{tile / p.shares, {all * share / p.shares, all * (share + 1) / p.shares}};
      auto acc = c.template block<float>(p.acc_buf, p.kept_panels() * p.panel_rows(), block_channels);
      for (i64 first = 0; first < p.in.blocks(); first += p.slice) p.add_slice(c, at, first, acc);
    });
  }

 private:
  struct Tile {
    i64 pair;      ///< of halves of pixels
    Range panels;  ///< of a half of the outputs
  };
  /// Row of the sums of a panel's quadrant.
  CORTADO_FN i64 row(i64 panel, i64 quadrant, i64 block) const {
    return (kept_panels() == 1 ? 0 : panel * panel_rows()) + (quadrant * panel_blocks + block) * in.pixels();
  }
  CORTADO_FN i64 output_block(const Tile& at, i64 panel, i64 half, i64 block) const {
    return (half * panels.panels() + at.panels.first + panel) * panel_blocks + block;
  }

  template <class C, class Sums>
  CORTADO_FN void add_slice(C& c, const Tile& at, i64 first, Sums& acc) const {
    const StrassenForward p = *this;
    const i64 count = math::min(slice, in.blocks() - first), matrix = count * block_channels * panels.panel;
    const LeftView view{block_channels, 1};
    const auto made = in.right_sums(c, at.pair, first, count);
    auto sums = c.left(made, view);
    auto first_quadrant = in.quadrant(c, at.pair, 0, first, count, view),
         last_quadrant = in.quadrant(c, at.pair, 3, first, count, view);
    c.pipeline(
        at.panels.count() * strassen::products, Depth::one,
        [&](i64 i) {
          const float* const from = p.w + p.panels.place(at.panels.first, i) + first * block_channels * p.panels.panel;
          return c.stage_b(p.w_buf, Box<float>::matrix(from, 1, matrix, 0, 0, 0, 1, matrix),
                           RightView{p.panels.panel, 0, block_channels});
        },
        [&](i64 i, auto& weights) {
          const i64 panel = i / strassen::products, product = i % strassen::products;
          const auto wanted = strassen::of_right(product);
          auto& x = !wanted.is_one() ? sums : wanted.first == 0 ? first_quadrant : last_quadrant;
          const i64 begin = wanted.is_one() ? 0 : strassen::right_sum(product) * count * p.in.pixels() * block_channels;
          p.join(c, product, first == 0, panel, p.multiply(c, x, begin, weights, count), acc);
          if (product < strassen::products - 1 || first + count < p.in.blocks()) return;
          p.write(c, at, panel, acc);
          if (p.sums != nullptr) p.leave_sums(c, at, panel, acc);
        });
  }

  /// A panel's product, of `blocks` blocks of terms.
  template <class C, class X, class Weights>
  CORTADO_FN auto multiply(C& c, X& x, i64 begin, Weights& weights, i64 blocks) const {
    TileShape shape;
    shape.m = in.pixels(), shape.n1 = panel_blocks, shape.n0 = block_channels, shape.k = block_channels;
    auto made = c.template sums<float>(product_buf, shape);
    for (i64 image = 0; image < in.images; ++image) {
      auto sums = c.rows(made, image * in.cols, in.cols);
      Taps taps;
      taps.count0 = blocks, taps.a0 = in.pixels() * block_channels, taps.b0 = block_channels * panels.panel;
      taps.a = begin + image * in.cols * block_channels;
      c.product(sums, c.row_share(x, 0), c.col_share(weights, 0), taps);
    }
    return made;
  }

  /// A product joins the sums of its quadrants, or is the first to do so.
  template <class C, class Made, class Sums>
  CORTADO_FN void join(C& c, i64 product, bool is_first_slice, i64 panel, const Made& made, Sums& acc) const {
    const auto to = strassen::of_result(product);
    const bool sets_first = is_first_slice && product < 3, sets_second = is_first_slice && product == 0;
    const i64 pixels = in.pixels();
    const auto each = [&](i64 b, i64 row, auto value) {
      for (i64 pixel = 0; pixel < pixels; ++pixel)
        c.each(block_channels, [&](i64 lane) {
          acc.set(row + pixel, lane, value(row + pixel, lane, made(pixel, b * block_channels + lane)));
        });
    };
    for (i64 b = 0; b < panel_blocks; ++b) {
      const i64 first = row(panel, to.first, b), second = row(panel, to.second, b);
      const float sign = to.sign;
      if (sets_first)
        each(b, first, [](i64, i64, auto v) { return v; });
      else
        each(b, first, [&](i64 r, i64 lane, auto v) { return acc.at(r, lane) + v; });
      if (to.is_one()) continue;
      if (sets_second)
        each(b, second, [](i64, i64, auto v) { return v; });
      else
        each(b, second, [&](i64 r, i64 lane, auto v) { return acc.at(r, lane) + sign * v; });
    }
  }

  /// Runs of a panel's outputs, [quadrant][block][image]: where they are written, and their row among the sums.
  CORTADO_FN i64 runs() const { return 4 * panel_blocks * in.images; }
  CORTADO_FN BlockRun run(const Tile& at, i64 panel, i64 i) const {
    const i64 quadrant = i / in.images / panel_blocks, block = i / in.images % panel_blocks;
    const auto run = in.run(2 * at.pair + quadrant % 2, i % in.images);
    const i64 output = output_block(at, panel, quadrant / 2, block);
    if (run.cols == 0) return {0, 0};
    return {((run.image * panels.outputs / block_channels + output) * in.plane + run.col) * block_channels, run.cols};
  }
  CORTADO_FN i64 row_of_run(i64 panel, i64 i) const {
    return row(panel, 0, 0) + i / in.images * in.pixels() + i % in.images * in.cols;
  }

  /// Writes a panel's outputs, of both halves.
  template <class C, class Sums>
  CORTADO_FN void write(C& c, const Tile& at, i64 panel, const Sums& acc) const {
    const StrassenForward p = *this;
    if (other.values != nullptr)
      return other.join(
          c, runs(), y_buf, y, [&](i64 i) { return p.run(at, panel, i); },
          [&](i64 i, i64 pixel, i64 lane) { return acc.at(p.row_of_run(panel, i) + pixel, lane); });
    for (i64 i = 0; i < runs(); ++i) {
      const BlockRun to = run(at, panel, i);
      const i64 first = row_of_run(panel, i);
      auto q = c.out2d(y_buf, y + to.place, to.pixels, block_channels, block_channels);
      c.each2d(to.pixels, block_channels, [&](i64 r, i64 lane) { q.set(r, lane, acc.at(first + r, lane)); });
      c.put(q);
    }
  }

  template <class C, class Sums>
  CORTADO_FN void leave_sums(C& c, const Tile& at, i64 panel, const Sums& acc) const {
    for (i64 i = 0; i < 2 * panel_blocks; ++i) {
      const i64 half = i / panel_blocks, block = i % panel_blocks,
                channel = output_block(at, panel, half, block) * block_channels;
      auto left = part_sums(c, sums_buf, sums, panels.outputs, at.pair, channel);
      clear_sums(c, left);
      for (i64 run = 0; run < 2 * in.images; ++run) {
        const i64 of_pixels = run / in.images, image = run % in.images,
                  first = row(panel, 2 * half + of_pixels, block) + image * in.cols;
        add_distances(
            c, [&](i64 pixel, i64 lane) { return acc.at(first + pixel, lane); },
            in.run(2 * at.pair + of_pixels, image).cols, LaneValues{}, left);
      }
      c.put(left);
    }
  }
};

/// Strassen's products of gradients, channels by pixels, and inputs, pixels by channels: [product][output][input],
/// outputs and inputs of a half each. A tile is a slice of inputs by a slice of outputs of one product.
struct StrassenGradient {
  static constexpr const char* label = "strassen_weight_gradient";
  StrassenPixels x, dy;
  float* to;
  i64 in_slice, out_slice;  ///< blocks of channels
  Buf acc_buf;

  CORTADO_FN i64 in_slices() const { return ceil_div(x.blocks(), in_slice); }
  CORTADO_FN i64 out_slices() const { return ceil_div(dy.blocks(), out_slice); }
  CORTADO_FN i64 tiles() const { return strassen::products * in_slices() * out_slices(); }
  CORTADO_FN i64 inputs() const { return x.blocks() * block_channels; }    ///< of a half
  CORTADO_FN i64 outputs() const { return dy.blocks() * block_channels; }  ///< of a half

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const StrassenGradient p = *this;
    c.tiles(p.tiles(), [&](i64 tile) {
      const i64 in = tile / p.out_slices() % p.in_slices() * p.in_slice, out = tile % p.out_slices() * p.out_slice,
                product = tile / p.out_slices() / p.in_slices();
      const i64 ins = math::min(p.in_slice, p.x.blocks() - in), outs = math::min(p.out_slice, p.dy.blocks() - out);
      TileShape shape;
      shape.m = outs * block_channels, shape.n1 = ins, shape.n0 = block_channels, shape.k = p.x.cols;
      auto acc = c.template sums<float>(p.acc_buf, shape);
      const i64 from_block = p.x.pixels() * block_channels;
      for (i64 pair = 0; pair < p.x.pairs(); ++pair)
        p.dy.with_left(c, pair, strassen::of_left(product), out, outs, LeftView{1, block_channels}, [&](auto& left) {
          p.x.with_right(c, pair, strassen::of_right(product), in, ins, RightView{block_channels, 0, from_block},
                         [&](auto& right) { p.multiply(c, pair, outs, left, right, acc); });
        });
      for (i64 block = 0; block < outs; ++block)
        c.store(c.rows(acc, block * block_channels, block_channels), p.destination(product, out + block, in, ins),
                [](float value, float, i64) { return value; });
    });
  }

 private:
  template <class C, class Left, class Right, class Sums>
  CORTADO_FN void multiply(C& c, i64 pair, i64 outs, Left& left, Right& right, Sums& acc) const {
    auto operands = both(left, right);
    for (i64 block = 0; block < outs; ++block) {
      auto sums = c.rows(acc, block * block_channels, block_channels);
      Taps taps;
      taps.count0 = x.images, taps.a0 = taps.b0 = x.cols * block_channels;
      taps.a = block * x.pixels() * block_channels;
      set_or_add(c, pair, sums, operands, taps);
    }
  }
  CORTADO_FN OutBox<float> destination(i64 product, i64 out, i64 in, i64 ins) const {
    OutBox<float> box;
    box.base = to + (product * outputs() + out * block_channels) * inputs() + in * block_channels;
    box.rows = block_channels;
    box.pitch_m = inputs();
    box.limit1 = ins, box.pitch1 = block_channels;
    box.limit0 = block_channels;
    box.reads_old = false;
    return box;
  }
};

/// dw (outputs x inputs) += what StrassenGradient's products make, or is set to it.
struct StrassenGradientSums {
  static constexpr const char* label = "strassen_gradient_sums";
  static constexpr i64 rows = 8, cols = 256;  ///< outputs and inputs of a line, at most
  const float* from;
  float* dw;
  bool sets;            ///< dw = them
  i64 inputs, outputs;  ///< of a half
  Buf from_buf[strassen::products];
  SetOrAdd to;

  CORTADO_FN i64 chunks() const { return ceil_div(inputs, cols); }
  CORTADO_FN i64 lines() const { return ceil_div(outputs, rows) * chunks(); }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const StrassenGradientSums p = *this;
    c.lines(
        p.lines(), Depth::one,
        [&](i64 line) {
          return both(both(both(p.product(c, line, 0), p.product(c, line, 1)),
                           both(p.product(c, line, 2), p.product(c, line, 3))),
                      both(both(p.product(c, line, 4), p.product(c, line, 5)), p.product(c, line, 6)));
        },
        [&](i64 line, auto& in) {
          const i64 out = line / p.chunks() * rows, first = line % p.chunks() * cols;
          const i64 outs = math::min(rows, p.outputs - out), count = math::min(cols, p.inputs - first);
          for (i64 r = 0; r < outs; ++r)
            for (i64 quadrant = 0; quadrant < 4; ++quadrant) {
              const i64 output = quadrant / 2 * p.outputs + out + r;
              p.write(c, quadrant, r, count, in, p.dw + (2 * output + quadrant % 2) * p.inputs + first);
            }
        });
  }

 private:
  template <class C>
  CORTADO_FN auto product(C& c, i64 line, i64 i) const {
    const i64 out = line / chunks() * rows, first = line % chunks() * cols;
    return c.get2d(from_buf[i], from + (i * outputs + out) * inputs + first, math::min(rows, outputs - out),
                   math::min(cols, inputs - first), inputs);
  }
  template <class C, class In>
  CORTADO_FN void write(C& c, i64 quadrant, i64 r, i64 count, const In& in, float* at) const {
    const auto &m1 = in.first.first.first, &m2 = in.first.first.second, &m3 = in.first.second.first,
               &m4 = in.first.second.second, &m5 = in.second.first.first, &m6 = in.second.first.second,
               &m7 = in.second.second;
    const auto leave = [&](const auto& value) { to.leave(c, sets, at, count, value); };
    switch (quadrant) {
      case 0: return leave([&](i64 i) { return (m1(r, i) + m4(r, i)) + (m7(r, i) - m5(r, i)); });
      case 1: return leave([&](i64 i) { return m3(r, i) + m5(r, i); });
      case 2: return leave([&](i64 i) { return m2(r, i) + m4(r, i); });
      default: return leave([&](i64 i) { return (m1(r, i) - m2(r, i)) + (m3(r, i) + m6(r, i)); });
    }
  }
};

}  // namespace cortado
