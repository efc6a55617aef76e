#pragma once
#include "layers/channels/channel_map.h"
#include "layers/channels/other_gradient.h"
#include "layers/channels/sums.h"
#include "layers/convolution/strassen/weights_program.h"

namespace cortado {

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
  ChannelMap map;
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
      if (map.is_there()) {
        const i64 half = i / in.images / panel_blocks / 2, block = i / in.images % panel_blocks;
        map.apply(c, q, to.pixels, output_block(at, panel, half, block) * block_channels);
      }
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
            in.run(2 * at.pair + of_pixels, image).cols, ChannelValues<block_channels>{}, left);
      }
      c.put(left);
    }
  }
};

}  // namespace cortado
