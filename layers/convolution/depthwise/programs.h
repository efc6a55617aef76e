#pragma once
#include "core/machine/channel_lanes.h"
#include "core/machine/gather.h"
#include "core/machine/math.h"
#include "core/machine/program.h"
#include "layers/convolution/sizes.h"

namespace cortado {

/// An array's lines: a band of rows of sixteen channels of an image, or of the channels that are left. Lanes are the
/// channels.
struct ChannelBands {
  i64 images, channels, height, band;  ///< rows of a plane, and of a band

  CORTADO_FN i64 blocks() const { return (channels + block_channels - 1) / block_channels; }
  CORTADO_FN i64 bands() const { return (height + band - 1) / band; }
  CORTADO_FN i64 lines() const { return images * blocks() * bands(); }
  struct Line {
    i64 image, channel, channels;  ///< the first channel, how many there are
    i64 row, rows;
  };
  CORTADO_FN Line line(i64 image, i64 block, i64 i) const {
    const i64 channel = block * block_channels, row = i * band;
    return {image, channel, math::min(i64{block_channels}, channels - channel), row, math::min(band, height - row)};
  }
  CORTADO_FN Line line(i64 i) const { return line(i / bands() / blocks(), i / bands() % blocks(), i % bands()); }
};

/// Taps of a kernel along one axis that one output sums: the i-th is tap `first` + i `step`, whose value lies at
/// `place`
/// + i `stride` of what was staged.
struct TapRun {
  i64 first, step, count;
  i64 place, stride;
};

/// One channel per group: forward, or the gradient of inputs. Both sum a few values of their own channel, weighed by
/// taps. Forward, output (r, q) sums inputs from row r sh - ph on, `dh` apart. The gradient of input row r sums output
/// rows (r + ph - a dh) / sh for taps a that leave no remainder: rows of the same remainder share their taps.
template <bool forward, class T>
struct DepthwiseSum {
  static constexpr const char* label = forward ? "depthwise_forward" : "depthwise_input_gradient";
  ConvolutionSizes s;
  ChannelBands cut;  ///< of what is written
  const T* from;
  const float* w;
  T* to;
  float* sums;  ///< [image and band][of outputs, of their squares][channels]; nullptr means that they are not wanted
  Buf from_buf, w_buf, to_buf, sums_buf;

  CORTADO_FN i64 height() const { return forward ? s.oh : s.ih; }
  CORTADO_FN i64 width() const { return forward ? s.ow : s.iw; }
  CORTADO_FN Range rows_read(i64 row, i64 rows) const { return read(row, rows, s.kh, s.sh, s.ph, s.dh); }
  CORTADO_FN Range cols_read() const { return read(0, width(), s.kw, s.sw, s.pw, s.dw); }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const DepthwiseSum p = *this;
    c.lines(
        p.cut.lines(), Depth::one,
        [&](i64 i) {
          const auto at = p.cut.line(i);
          return gather(c.stage(p.from_buf, p.values(at)), c.stage(p.w_buf, p.taps(at)));
        },
        named([&](i64 i, auto staged, auto weights) {
          if ((forward ? p.s.dst : p.s.src) == Layout::nchw16c)
            p.band<true>(c, p.cut.line(i), staged, weights);
          else
            p.band<false>(c, p.cut.line(i), staged, weights);
        }));
  }

 private:
  static constexpr i64 together = 4;  ///< outputs that are summed at a time

  /// Largest integer not above a / b.
  CORTADO_FN static i64 floor_div(i64 a, i64 b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

  CORTADO_FN static Range read(i64 first, i64 count, i64 kernel, i64 stride, i64 pad, i64 dilation) {
    const i64 reach = (kernel - 1) * dilation;
    if constexpr (forward) {
      const i64 from = first * stride - pad;
      return {from, from + (count - 1) * stride + reach + 1};
    }
    return {floor_div(first + pad - reach, stride), (first + count - 1 + pad) / stride + 1};
  }

  /// Taps of output `at`, whose values were staged from `first_read` on.
  CORTADO_FN static TapRun run(i64 at, i64 kernel, i64 stride, i64 pad, i64 dilation, i64 first_read) {
    if constexpr (forward) return {0, 1, kernel, at * stride - pad - first_read, dilation};
    i64 first = 0, step = 1;
    while (first < kernel && (at + pad - first * dilation) % stride != 0) ++first;
    while (step * dilation % stride != 0) ++step;
    return {first, step, (kernel - first + step - 1) / step, (at + pad - first * dilation) / stride - first_read,
            -step * dilation / stride};
  }

  CORTADO_FN Box<T> values(const ChannelBands::Line& at) const {
    const i64 h = forward ? s.ih : s.oh, w_ = forward ? s.iw : s.ow;
    return channel_lanes(from + (at.image * cut.channels + at.channel) * h * w_, forward ? s.src : s.dst, h, w_,
                         at.channels, rows_read(at.row, at.rows), cols_read());
  }
  CORTADO_FN Box<float> taps(const ChannelBands::Line& at) const {
    const i64 count = s.kh * s.kw;
    return channel_lanes(w + at.channel * count, Layout::nchw, 1, count, at.channels, {0, 1}, {0, count});
  }

  template <bool blocks, class C, class From, class W>
  CORTADO_FN void band(C& c, const ChannelBands::Line& at, const From& staged, const W& weights) const {
    const i64 plane = height() * width();
    auto result = out_lanes<blocks>(
        c, to_buf,
        to + (at.image * cut.channels + at.channel) * plane + at.row * width() * channel_block(forward ? s.dst : s.src),
        at.rows * width(), plane, at.channels);
    const Range rows = rows_read(at.row, at.rows), cols = cols_read();
    const i64 classes = forward ? 1 : s.sw;  // of columns, which share their taps
    for (i64 row = 0; row < at.rows; ++row) {
      const TapRun down = run(at.row + row, s.kh, s.sh, s.ph, s.dh, rows.first);
      for (i64 first = 0; first < math::min(classes, width()); ++first) {
        const TapRun across = run(first, s.kw, s.sw, s.pw, s.dw, cols.first);
        const i64 outputs = (width() - first + classes - 1) / classes;
        i64 o = 0;
        for (; o + together <= outputs; o += together)
          sum<together>(c, staged, weights, result, row * width() + first, classes, o, down, across, cols.count());
        for (; o < outputs; ++o)
          sum<1>(c, staged, weights, result, row * width() + first, classes, o, down, across, cols.count());
      }
    }
    if constexpr (forward)
      if (sums != nullptr) leave_sums(c, at, result);
    c.put(result);
  }

  /// Sums over a band that lies in blocks.
  template <class C, class To>
  CORTADO_FN void leave_sums(C& c, const ChannelBands::Line& at, const To& result) const {
    const i64 part = at.image * cut.bands() + at.row / cut.band, pixels = at.rows * width();
    auto q = c.out2d(sums_buf, sums + part * 2 * cut.channels + at.channel, 2, block_channels, cut.channels);
    c.each2d(2, block_channels, [&](i64 r, i64 lane) { q.set(r, lane, 0.0f); });
    i64 pixel = 0;
    for (; pixel + 2 * together <= pixels; pixel += 2 * together) add_to_sums<2 * together>(c, result, pixel, q);
    for (; pixel < pixels; ++pixel) add_to_sums<1>(c, result, pixel, q);
    c.put(q);
  }
  template <int n, class C, class To, class Sums>
  CORTADO_FN static void add_to_sums(C& c, const To& result, i64 pixel, Sums& q) {
    c.each(block_channels, [&](i64 lane) {
      auto plain = q.at(0, lane), squares = q.at(1, lane);
      CORTADO_UNROLL
      for (i64 j = 0; j < n; ++j) {
        const auto value = result.at(pixel + j, lane);
        plain = plain + value, squares = squares + value * value;
      }
      q.set(0, lane, plain);
      q.set(1, lane, squares);
    });
  }

  /// Outputs o to o + n of a class, whose first one is `pixel`, and which are `classes` apart.
  template <i64 n, class C, class From, class W, class To>
  CORTADO_FN void sum(C& c, const From& staged, const W& weights, To& result, i64 pixel, i64 classes, i64 o,
                      const TapRun& down, const TapRun& across, i64 pitch) const {
    const i64 next = forward ? s.sw : 1, to_pixel = pixel + o * classes;
    const i64 place = down.place * pitch + across.place + o * next, tap = down.first * s.kw + across.first;
    const i64 tap_down = down.step * s.kw, place_down = down.stride * pitch;
    if (down.count == 3 && across.count == 3) {
      const i64 tap_across = across.step, place_across = across.stride;
      c.each(block_channels, [&](i64 lane) {
        decltype(staged(0, 0)) sum0(0.0f), sum1(0.0f), sum2(0.0f), sum3(0.0f);
        CORTADO_UNROLL
        for (i64 i = 0; i < 9; ++i) {
          const auto weight = weights(tap + i / 3 * tap_down + i % 3 * tap_across, lane);
          const i64 at = place + i / 3 * place_down + i % 3 * place_across;
          sum0 = sum0 + weight * staged(at, lane);
          if constexpr (n > 1) {
            sum1 = sum1 + weight * staged(at + next, lane);
            sum2 = sum2 + weight * staged(at + 2 * next, lane);
            sum3 = sum3 + weight * staged(at + 3 * next, lane);
          }
        }
        result.set(to_pixel, lane, sum0);
        if constexpr (n > 1) {
          result.set(to_pixel + classes, lane, sum1);
          result.set(to_pixel + 2 * classes, lane, sum2);
          result.set(to_pixel + 3 * classes, lane, sum3);
        }
      });
      return;
    }
    decltype(staged(0, 0)) sums[n * block_channels];  // each lane's own
    for (i64 j = 0; j < n; ++j) c.each(block_channels, [&](i64 lane) { sums[j * block_channels + lane] = 0.0f; });
    for (i64 a = 0; a < down.count; ++a)
      for (i64 b = 0; b < across.count; b += 3) {
        const i64 first_tap = tap + a * tap_down + b * across.step,
                  first_place = place + a * place_down + b * across.stride;
        switch (math::min(across.count - b, i64{3})) {
          case 1: add<1, n>(c, staged, weights, sums, first_tap, across.step, first_place, across.stride, next); break;
          case 2: add<2, n>(c, staged, weights, sums, first_tap, across.step, first_place, across.stride, next); break;
          default: add<3, n>(c, staged, weights, sums, first_tap, across.step, first_place, across.stride, next);
        }
      }
    for (i64 j = 0; j < n; ++j)
      c.each(block_channels,
             [&](i64 lane) { result.set(to_pixel + j * classes, lane, sums[j * block_channels + lane]); });
  }

  /// Adds `taps` taps that stand side by side to the sums of n outputs.
  template <int taps, i64 n, class C, class From, class W, class V>
  CORTADO_FN static void add(C& c, const From& staged, const W& weights, V* sums, i64 tap, i64 tap_step, i64 place,
                             i64 place_step, i64 next) {
    c.each(block_channels, [&](i64 lane) {
      CORTADO_UNROLL
      for (i64 j = 0; j < n; ++j) {
        auto sum = sums[j * block_channels + lane];
        CORTADO_UNROLL
        for (i64 i = 0; i < taps; ++i)
          sum = sum + weights(tap + i * tap_step, lane) * staged(place + i * place_step + j * next, lane);
        sums[j * block_channels + lane] = sum;
      }
    });
  }
};

/// One channel per group: sums of products of output gradients and inputs, of a share of all bands of sixteen channels.
/// DepthwiseGradientSums adds up what the shares leave: [share][block of channels][tap][sixteen channels].
template <class T>
struct DepthwiseWeightGradient {
  static constexpr const char* label = "depthwise_weight_gradient";
  ConvolutionSizes s;
  ChannelBands cut;  ///< of output gradients
  i64 shares;        ///< not more than images x bands
  const T *x, *dy;
  float* sums;
  Buf x_buf, dy_buf, sums_buf;

  CORTADO_FN i64 rows_read() const { return s.rows_under(cut.band); }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const DepthwiseWeightGradient p = *this;
    c.lines(
        p.shares * p.cut.blocks(), Depth::one, [](i64 i) { return i; },
        [&](i64 i, i64&) {
          const i64 block = i % p.cut.blocks(), share = i / p.cut.blocks(), items = p.s.images * p.cut.bands(),
                    first = share * items / p.shares, taps = p.s.kh * p.s.kw;
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
              named([&](i64 item, auto inputs, auto gradients) { p.add(c, line(item).rows, inputs, gradients, q); }));
          c.put(q);
        });
  }

 private:
  static constexpr i64 together = 4;  ///< output gradients that are read at a time

  CORTADO_FN Box<T> inputs(const ChannelBands::Line& at) const {
    const i64 row = at.row * s.sh - s.ph;
    return channel_lanes(x + (at.image * cut.channels + at.channel) * s.ih * s.iw, s.src, s.ih, s.iw, at.channels,
                         {row, row + s.rows_under(at.rows)}, {-s.pw, s.cols_under(s.ow) - s.pw});
  }
  CORTADO_FN Box<T> gradients(const ChannelBands::Line& at) const {
    return channel_lanes(dy + (at.image * cut.channels + at.channel) * s.oh * s.ow, s.dst, s.oh, s.ow, at.channels,
                         {at.row, at.row + at.rows}, {0, s.ow});
  }

  template <class C, class X, class Dy, class Sums>
  CORTADO_FN void add(C& c, i64 rows, const X& inputs, const Dy& gradients, Sums& q) const {
    for (i64 row = 0; row < rows; ++row) {
      i64 col = 0;
      for (; col + together <= s.ow; col += together) add_to_taps<together>(c, row, col, inputs, gradients, q);
      for (; col < s.ow; ++col) add_to_taps<1>(c, row, col, inputs, gradients, q);
    }
  }

  /// Adds n output gradients of a row to the sums of all taps.
  template <i64 n, class C, class X, class Dy, class Sums>
  CORTADO_FN void add_to_taps(C& c, i64 row, i64 col, const X& inputs, const Dy& gradients, Sums& q) const {
    const i64 from = row * s.ow + col, pitch = s.cols_under(s.ow), place = row * s.sh * pitch + col * s.sw;
    for (i64 a = 0; a < s.kh; ++a)
      for (i64 b = 0; b < s.kw; b += 3) {
        const i64 tap = a * s.kw + b, at = place + a * s.dh * pitch + b * s.dw;
        switch (math::min(s.kw - b, i64{3})) {
          case 1: add_to_few<1, n>(c, tap, at, from, inputs, gradients, q); break;
          case 2: add_to_few<2, n>(c, tap, at, from, inputs, gradients, q); break;
          default: add_to_few<3, n>(c, tap, at, from, inputs, gradients, q);
        }
      }
  }

  template <int taps, i64 n, class C, class X, class Dy, class Sums>
  CORTADO_FN void add_to_few(C& c, i64 tap, i64 place, i64 from, const X& inputs, const Dy& gradients, Sums& q) const {
    const i64 next = s.sw, dilation = s.dw;
    c.each(block_channels, [&](i64 lane) {
      CORTADO_UNROLL
      for (i64 i = 0; i < taps; ++i) {
        auto sum = q.at(tap + i, lane);
        CORTADO_UNROLL
        for (i64 j = 0; j < n; ++j)
          sum = sum + gradients(from + j, lane) * inputs(place + i * dilation + j * next, lane);
        q.set(tap + i, lane, sum);
      }
    });
  }
};

/// dw = the sums of all shares, or dw plus them. A line is sixteen channels.
struct DepthwiseGradientSums {
  static constexpr const char* label = "depthwise_gradient_sums";
  i64 channels, taps, shares;
  bool sets;
  const float* sums;
  float* dw;
  Buf sums_buf, old_buf, dw_buf;

  CORTADO_FN i64 blocks() const { return (channels + block_channels - 1) / block_channels; }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const DepthwiseGradientSums p = *this;
    c.lines(
        p.blocks(), Depth::one, [&](i64 block) { return c.stage(p.old_buf, p.old(block)); },
        [&](i64 block, auto& before) {
          const i64 channel = block * block_channels;
          auto q = out_lanes<false>(c, p.dw_buf, p.dw + channel * p.taps, p.taps, p.taps, p.present(block));
          const bool adds = !p.sets;
          c.each2d(p.taps, block_channels, [&](i64 t, i64 lane) { q.set(t, lane, adds ? before(t, lane) : 0.0f); });
          c.pipeline(
              p.shares, Depth::one,
              [&](i64 share) {
                return c.get2d(p.sums_buf, p.sums + (share * p.blocks() + block) * p.taps * block_channels, p.taps,
                               block_channels, block_channels);
              },
              [&](i64, auto& part) {
                c.each2d(p.taps, block_channels,
                         [&](i64 t, i64 lane) { q.set(t, lane, q.at(t, lane) + part(t, lane)); });
              });
          c.put(q);
        });
  }

 private:
  CORTADO_FN i64 present(i64 block) const { return math::min(i64{block_channels}, channels - block * block_channels); }
  CORTADO_FN Box<float> old(i64 block) const {
    return channel_lanes(static_cast<const float*>(dw) + block * block_channels * taps, Layout::nchw, 1, taps,
                         present(block), {0, 1}, {0, taps});
  }
};

}  // namespace cortado
