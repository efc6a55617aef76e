#pragma once
#include "core/machine/gather.h"
#include "layers/convolution/depthwise/bands.h"
#include "layers/convolution/sizes.h"

namespace cortado {

/// Few channels per group: sums of products of output gradients and inputs, of a share of all bands of sixteen
/// channels. DepthwiseGradientSums adds up what the shares leave:
/// [share][block of channels][channel of a group][tap][sixteen channels].
template <class T>
struct DepthwiseWeightGradient {
  static constexpr const char* label = "depthwise_weight_gradient";
  static constexpr i64 columns = 4;  ///< output gradients that are read at a time
  ConvolutionSizes s;
  i64 copies;        ///< channels of a group: 1, or in blocks 2, 4 or 8
  ChannelBands cut;  ///< of output gradients
  i64 shares;        ///< not more than images x bands
  const T *x, *dy;
  float* sums;
  Buf x_buf, copies_buf, dy_buf, sums_buf;

  CORTADO_FN i64 taps() const { return s.kh * s.kw; }
  CORTADO_FN bool in_blocks() const { return s.src == Layout::nchw16c && s.dst == Layout::nchw16c; }
  /// Columns that are staged; those beyond the image have no gradient.
  CORTADO_FN i64 cols() const { return (s.ow + columns - 1) / columns * columns; }
  CORTADO_FN i64 cols_read() const { return s.cols_under(cols()); }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const DepthwiseWeightGradient p = *this;
    const auto fetch = [](i64 i) { return i; };
    c.lines(p.shares * p.cut.blocks(), Depth::one, fetch, [&](i64 i, i64&) {
      const i64 block = i % p.cut.blocks(), share = i / p.cut.blocks(), items = p.s.images * p.cut.bands(),
                first = share * items / p.shares, taps = p.copies * p.taps();
      const auto line = [&](i64 item) {
        return p.cut.line((first + item) / p.cut.bands(), block, (first + item) % p.cut.bands());
      };
      auto q = c.out2d(p.sums_buf, p.sums + i * taps * block_channels, taps, block_channels, block_channels);
      c.each2d(taps, block_channels, [&](i64 t, i64 lane) { q.set(t, lane, 0.0f); });
      c.pipeline(
          (share + 1) * items / p.shares - first, Depth::one,
          [&](i64 item) {
            const auto at = line(item);
            return gather(c.stage(p.x_buf, p.inputs(at)), c.stage(p.dy_buf, p.gradients(at)));
          },
          named([&](i64 item, auto inputs, auto gradients) {
            const i64 rows = line(item).rows;
            using In = decltype(inputs);
            if (!p.in_blocks())
              p.add(c, rows, LanePixels<false, In>{inputs, p.cols_read()}, LanePixels<false, In>{gradients, p.cols()},
                    q);
            else if (p.copies == 1)
              p.add(c, rows, LanePixels<true, In>{inputs, p.cols_read()}, LanePixels<true, In>{gradients, p.cols()}, q);
            else
              p.add(c, rows, channel_copies(c, p.copies_buf, p.copies, p.s.rows_under(rows), p.cols_read(), inputs),
                    LanePixels<true, In>{gradients, p.cols()}, q);
          }));
      c.put(q);
    });
  }

 private:
  CORTADO_FN Box<T> inputs(const ChannelBands::Line& at) const {
    const i64 row = at.row * s.sh - s.ph;
    return cut.pixels(x, s.src, in_blocks(), s.ih, s.iw, at, {row, row + s.rows_under(at.rows)},
                      {-s.pw, cols_read() - s.pw});
  }
  CORTADO_FN Box<T> gradients(const ChannelBands::Line& at) const {
    return cut.pixels(dy, s.dst, in_blocks(), s.oh, s.ow, at, {at.row, at.row + at.rows}, {0, cols()});
  }

  template <class C, class X, class Dy, class Sums>
  CORTADO_FN void add(C& c, i64 rows, const X& inputs, const Dy& gradients, Sums& q) const {
    const bool three = s.kh == 3 && s.kw == 3 && s.dh == 1 && s.dw == 1;
    for (i64 i = 0; i < copies; ++i) {
      const i64 from = i * s.rows_under(rows), tap = i * taps();
      for (i64 row = 0; row < rows;) {
        const i64 together = three && s.sh == 1 && s.sw == 1 && row + 1 < rows ? 2 : 1;
        for (i64 col = 0; col < cols(); col += columns)
          if (together == 2)
            add_to_taps<2, 3, 3, 1>(c, tap, from, row, col, inputs, gradients, q);
          else if (three && s.sw == 1)
            add_to_taps<1, 3, 3, 1>(c, tap, from, row, col, inputs, gradients, q);
          else if (three && s.sw == 2)
            add_to_taps<1, 3, 3, 2>(c, tap, from, row, col, inputs, gradients, q);
          else
            add_to_any(c, tap, from, row, col, inputs, gradients, q);
        row += together;
      }
    }
  }

  template <class C, class X, class Dy, class Sums>
  CORTADO_FN void add_to_any(C& c, i64 tap, i64 from, i64 row, i64 col, const X& inputs, const Dy& gradients,
                             Sums& q) const {
    for (i64 a = 0; a < s.kh; ++a)
      for (i64 b = 0; b < s.kw; b += 3) {
        const i64 first = tap + a * s.kw + b, above = from + a * s.dh, before = b * s.dw;
        switch (math::min(s.kw - b, i64{3})) {
          case 1: add_to_taps<1, 1, 1, 0>(c, first, above, row, col, inputs, gradients, q, before); break;
          case 2: add_to_taps<1, 1, 2, 0>(c, first, above, row, col, inputs, gradients, q, before); break;
          default: add_to_taps<1, 1, 3, 0>(c, first, above, row, col, inputs, gradients, q, before);
        }
      }
  }

  /// Adds a few output gradients of each row to the sums of down x across taps, whose inputs are staged from row `from`
  /// and column `before` on. Inputs of neighbouring taps are neighbours, those of neighbouring gradients `next` of them
  /// apart; a `next` of 0 leaves both to the window.
  template <i64 rows, i64 down, i64 across, i64 next, class C, class X, class Dy, class Sums>
  CORTADO_FN void add_to_taps(C& c, i64 tap, i64 from, i64 row, i64 col, const X& inputs, const Dy& gradients, Sums& q,
                              i64 before = 0) const {
    const i64 above = from + row * s.sh, left = before + col * s.sw, step = next > 0 ? 1 : s.dw,
              apart = next > 0 ? next : s.sw;
    c.each(block_channels, [&](i64 lane) {
      decltype(inputs(0, 0, 0)) sums[down * across];
      CORTADO_UNROLL
      for (i64 t = 0; t < down * across; ++t) sums[t] = q.at(tap + t, lane);
      CORTADO_UNROLL
      for (i64 r = 0; r < rows; ++r) CORTADO_UNROLL
      for (i64 j = 0; j < columns; ++j) {
        const auto gradient = gradients(row + r, col + j, lane);
        CORTADO_UNROLL
        for (i64 t = 0; t < down * across; ++t)
          sums[t] = sums[t] + gradient * inputs(above + r + t / across, left + t % across * step + j * apart, lane);
      }
      CORTADO_UNROLL
      for (i64 t = 0; t < down * across; ++t) q.set(tap + t, lane, sums[t]);
    });
  }
};

}  // namespace cortado
