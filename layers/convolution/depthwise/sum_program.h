#pragma once
#include "core/machine/gather.h"
#include "layers/channels/channel_map.h"
#include "layers/channels/sums.h"
#include "layers/convolution/depthwise/bands.h"
#include "layers/convolution/depthwise/few_outputs.h"
#include "layers/convolution/sizes.h"

namespace cortado {

/// Few channels per group: forward, or the gradient of inputs. Both sum a few values of their own group, weighed by
/// taps. Forward, output (r, q) sums inputs from row r sh - ph on, `dh` apart. The gradient of input row r sums output
/// rows (r + ph - a dh) / sh for taps a that leave no remainder: rows of the same remainder share their taps.
template <bool forward, class T>
struct DepthwiseSum {
  static constexpr const char* label = forward ? "depthwise_forward" : "depthwise_input_gradient";
  ConvolutionSizes s;
  i64 copies;        ///< channels of a group: 1, or in blocks 2, 4 or 8
  ChannelBands cut;  ///< of what is written
  i64 piece;         ///< rows of a band that go out together; all of them where they are turned
  bool streams;      ///< caches need not keep what is written
  const T* from;
  const float* w;  ///< [channel that is written][channel of its group that is read][tap]
  T* to;
  float* sums;  ///< [image and band][of outputs, of their squares][channels]; nullptr means that they are not wanted
  ChannelMap map;
  Buf from_buf, copies_buf, w_buf, to_buf, left_buf, sums_buf;

  CORTADO_FN i64 height() const { return forward ? s.oh : s.ih; }
  CORTADO_FN i64 width() const { return forward ? s.ow : s.iw; }
  CORTADO_FN Range rows_read(i64 row, i64 rows) const { return read(row, rows, s.kh, s.sh, s.ph, s.dh); }
  CORTADO_FN Range cols_read() const { return read(0, width(), s.kw, s.sw, s.pw, s.dw); }
  CORTADO_FN bool writes_blocks() const { return (forward ? s.dst : s.src) == Layout::nchw16c; }
  /// True if both arrays lie in blocks.
  CORTADO_FN bool in_blocks() const { return s.src == Layout::nchw16c && s.dst == Layout::nchw16c; }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const DepthwiseSum p = *this;
    const auto fetch = [&](i64 i) {
      const auto at = p.cut.line(i);
      return gather(c.stage(p.from_buf, p.values(at)), c.stage(p.w_buf, p.weights(at)));
    };
    const auto work = named([&](i64 i, auto staged, auto weights) {
      const auto at = p.cut.line(i);
      const i64 rows = p.rows_read(at.row, at.rows).count(), cols = p.cols_read().count();
      if (p.in_blocks() && p.copies == 1)
        p.template band<true>(c, at, LanePixels<true, decltype(staged)>{staged, cols}, weights);
      else if (p.in_blocks())
        p.template band<true>(c, at, channel_copies(c, p.copies_buf, p.copies, rows, cols, staged), weights);
      else if (p.writes_blocks())
        p.template band<true>(c, at, LanePixels<false, decltype(staged)>{staged, cols}, weights);
      else
        p.template band<false>(c, at, LanePixels<false, decltype(staged)>{staged, cols}, weights);
    });
    c.lines(p.cut.lines(), Depth::one, fetch, work);
  }

 private:
  CORTADO_FN static Range read(i64 first, i64 count, i64 kernel, i64 stride, i64 pad, i64 dilation) {
    const i64 reach = (kernel - 1) * dilation;
    if constexpr (forward) {
      const i64 from = first * stride - pad;
      return {from, from + (count - 1) * stride + reach + 1};
    }
    return {floor_div(first + pad - reach, stride), (first + count - 1 + pad) / stride + 1};
  }
  CORTADO_FN static TapRun run(i64 at, i64 kernel, i64 stride, i64 pad, i64 dilation, i64 first_read) {
    return forward ? TapRun::of_output(at, kernel, stride, pad, dilation, first_read)
                   : TapRun::of_input(at, kernel, stride, pad, dilation, first_read);
  }

  CORTADO_FN Box<T> values(const ChannelBands::Line& at) const {
    return cut.pixels(from, forward ? s.src : s.dst, in_blocks(), forward ? s.ih : s.oh, forward ? s.iw : s.ow, at,
                      rows_read(at.row, at.rows), cols_read());
  }
  CORTADO_FN Box<float> weights(const ChannelBands::Line& at) const {
    const i64 count = copies * s.kh * s.kw;
    return channel_lanes(w + at.channel * count, Layout::nchw, 1, count, at.channels, {0, 1}, {0, count});
  }

  template <bool blocks, class C, class In, class W>
  CORTADO_FN void band(C& c, const ChannelBands::Line& at, const In& in, const W& weights) const {
    const i64 plane = height() * width(), part = at.image * cut.bands() + at.row / cut.band;
    T* const base = to + (at.image * cut.channels + at.channel) * plane;
    const Range read = rows_read(at.row, at.rows);
    const bool wants_sums = forward && blocks && sums != nullptr;
    auto left = c.template block<float>(left_buf, 2, block_channels);
    if (wants_sums) clear_sums(c, left);
    for (i64 row = 0; row < at.rows; row += piece) {
      const i64 rows = math::min(piece, at.rows - row), pixels = rows * width(), first = (at.row + row) * width();
      auto result = out<blocks>(c, base, first, pixels, plane, at.channels);
      sum_rows(c, at.row + row, rows, read.first, read.count(), in, weights, result);
      if (forward && map.is_there()) map.apply(c, result, pixels, at.channel);
      if (wants_sums)
        add_distances(
            c, [&](i64 pixel, i64 lane) { return result.at(pixel, lane); }, pixels, ChannelValues<block_channels>{},
            left);
      c.put(result);
    }
    if (!wants_sums) return;
    auto q = part_sums(c, sums_buf, sums, cut.channels, part, at.channel);
    c.each2d(2, block_channels, [&](i64 r, i64 lane) { q.set(r, lane, left.at(r, lane)); });
    c.put(q);
  }

  /// `pixels` pixels from `first` on.
  template <bool blocks, class C>
  CORTADO_FN auto out(C& c, T* base, i64 first, i64 pixels, i64 plane, i64 channels) const {
    if constexpr (blocks) {
      T* const there = base + first * block_channels;
      return streams ? c.out_streamed(to_buf, there, pixels, block_channels, block_channels)
                     : c.out2d(to_buf, there, pixels, block_channels, block_channels);
    } else {
      return c.out_turned(to_buf, base + first, pixels, block_channels, plane, channels);
    }
  }

  /// Rows of outputs, from `first` on, of values that were staged from row `read` on, in copies of `copy_rows` rows.
  template <class C, class In, class W, class To>
  CORTADO_FN void sum_rows(C& c, i64 first, i64 rows, i64 read, i64 copy_rows, const In& in, const W& weights,
                           To& result) const {
    const i64 classes = math::min(forward ? i64{1} : s.sw, width());  // of columns, which share their taps
    const FewOutputs<forward, In, W, To> few{in, weights, result, width(), copies, copy_rows, s.kh * s.kw, s.kw};
    for (i64 row = 0; row < rows;) {
      const TapRun down = run(first + row, s.kh, s.sh, s.ph, s.dh, read);
      const i64 together = s.sh == 1 && row + 1 < rows ? 2 : 1;  // rows of the same taps
      for (i64 q = 0; q < classes; ++q) {
        const TapRun across = run(q, s.kw, s.sw, s.pw, s.dw, cols_read().first);
        few.sum(c, row, together, q, classes, down, across, forward ? s.sw : 1);
      }
      row += together;
    }
  }
};

}  // namespace cortado
