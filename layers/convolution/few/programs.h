#pragma once
#include "core/machine/gather.h"
#include "core/machine/integers.h"
#include "core/machine/math.h"
#include "core/machine/program.h"
#include "layers/convolution/sizes.h"

namespace cortado {

/// Places along one axis: position o of what is written reads places o read .. o read + (kernel - 1) dilation of a
/// padded axis, on which source i lies at place pad + i put.
struct FewAxis {
  i64 source, written, kernel, dilation, pad, put, read;

  /// Padded places that `n` written positions read.
  CORTADO_FN i64 places(i64 n) const { return (n - 1) * read + (kernel - 1) * dilation + 1; }
  /// Sources that lie within `n` places from `first` on; at least one, which may lie beside them.
  CORTADO_FN Range sources(i64 first, i64 n) const {
    const i64 from = first <= pad ? 0 : ceil_div(first - pad, put),
              end = first + n <= pad ? 0 : (first + n - 1 - pad) / put + 1;
    const i64 begin = math::min(from, source - 1);
    return {begin, math::max(begin + 1, math::min(end, source))};
  }
};

/// Bands of rows of all channels of a group, and where they lie: a line is (image, group, band).
struct FewBands {
  i64 images, groups, from_channels, to_channels;  ///< of a group
  FewAxis down, across;
  i64 band;  ///< rows that are written

  struct Line {
    i64 image, group, row, rows;
  };
  CORTADO_FN i64 bands() const { return ceil_div(down.written, band); }
  CORTADO_FN i64 lines() const { return images * groups * bands(); }
  CORTADO_FN Line line(i64 i) const {
    const i64 row = i % bands() * band;
    return {i / bands() / groups, i / bands() % groups, row, math::min(band, down.written - row)};
  }
  CORTADO_FN i64 plane() const { return down.source * across.source; }
  /// Source rows of a line.
  CORTADO_FN Range rows(const Line& at) const { return down.sources(at.row * down.read, down.places(at.rows)); }
  CORTADO_FN const float* first(const float* from, const Line& at) const {
    return from + (at.image * groups + at.group) * from_channels * plane() + rows(at).first * across.source;
  }
  /// A group's source rows, a channel in a row of the block.
  template <class C>
  CORTADO_FN auto get(C& c, Buf buf, const float* from, const Line& at) const {
    return c.get2d(buf, first(from, at), from_channels, rows(at).count() * across.source, plane());
  }

  /// Lays source rows on padded places, with zeros between and around; a channel follows the other.
  template <class C, class In, class Block>
  CORTADO_FN void pad(C& c, const Line& at, const In& in, Block& padded) const {
    const FewBands b = *this;
    const i64 height = b.down.places(at.rows), width = b.across.places(b.across.written), top = at.row * b.down.read;
    const Range got = b.rows(at);
    c.each2d(b.from_channels * height, width, [&](i64 r, i64 q) { padded.set(r, q, 0.0f); });
    for (i64 channel = 0; channel < b.from_channels; ++channel)
      for (i64 row = got.first; row < got.end; ++row) {
        const i64 place = b.down.pad + row * b.down.put - top;
        if (place < 0 || place >= height) continue;
        const i64 from = (row - got.first) * b.across.source, to = channel * height + place;
        if (b.across.put == 1) {
          const i64 end = math::min(width, b.across.pad + b.across.source);
          c.each2d(Range{to, to + 1}, Range{b.across.pad, end},
                   [&](i64 r, i64 q) { padded.set(r, q, in(channel, from + q - b.across.pad)); });
          continue;
        }
        c.each2d(Range{to, to + 1}, Range{b.across.pad, width}, [&](i64 r, i64 q) {
          const i64 source = (q - b.across.pad) / b.across.put;
          const bool lies = (q - b.across.pad) % b.across.put == 0 && source < b.across.source;
          padded.set(r, q, math::select(lies, in(channel, from + (lies ? source : 0)), 0.0f));
        });
      }
  }
};

/// Groups of few channels in planes: forward, or the gradient of inputs, which is a forward convolution of spread
/// gradients by turned kernels. Each written value sums the taps of all channels of its group.
template <bool forward>
struct FewChannels {
  static constexpr const char* label = forward ? "few_channels_forward" : "few_channels_input_gradient";
  FewBands cut;
  const float *from, *w;
  float* to;
  Buf from_buf, w_buf, padded_buf, to_buf;

  CORTADO_FN i64 taps() const { return cut.down.kernel * cut.across.kernel; }
  CORTADO_FN i64 weights() const { return cut.from_channels * cut.to_channels * taps(); }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const FewChannels p = *this;
    const auto fetch = [&](i64 i) {
      const auto at = p.cut.line(i);
      return gather(p.cut.get(c, p.from_buf, p.from, at), c.get(p.w_buf, p.w + at.group * p.weights(), p.weights()));
    };
    c.lines(p.cut.lines(), Depth::two, fetch, named([&](i64 i, auto in, auto kernels) {
              const auto at = p.cut.line(i);
              const i64 height = p.cut.down.places(at.rows), width = p.cut.across.places(p.cut.across.written);
              auto padded = c.template block<float>(p.padded_buf, p.cut.from_channels * height, width);
              p.cut.pad(c, at, in, padded);
              p.sum(c, at, height, kernels, padded);
            }));
  }

 private:
  template <class C, class Kernels, class Block>
  CORTADO_FN void sum(C& c, const FewBands::Line& at, i64 height, const Kernels& kernels, const Block& padded) const {
    const FewChannels p = *this;
    const FewAxis &down = p.cut.down, &across = p.cut.across;
    const i64 plane = down.written * across.written, count = p.taps();
    float* const home =
        p.to + (at.image * p.cut.groups + at.group) * p.cut.to_channels * plane + at.row * across.written;
    auto q = c.out2d(p.to_buf, home, p.cut.to_channels, at.rows * across.written, plane);
    for (i64 o = 0; o < p.cut.to_channels; ++o)
      for (i64 row = 0; row < at.rows; ++row) {
        const i64 begin = row * across.written;
        c.each2d(Range{o, o + 1}, Range{begin, begin + across.written}, [&](i64 r, i64 i) {
          float total = 0;
          for (i64 channel = 0; channel < p.cut.from_channels; ++channel) {
            const i64 kernel = (forward ? r * p.cut.from_channels + channel : channel * p.cut.to_channels + r) * count;
            for (i64 tap = 0; tap < count; ++tap)
              total = total + padded.at(channel * height + row * down.read + tap / across.kernel * down.dilation,
                                        (i - begin) * across.read + tap % across.kernel * across.dilation) *
                                  kernels[kernel + (forward ? tap : count - 1 - tap)];
          }
          q.set(r, i, total);
        });
      }
    c.put(q);
  }
};

/// The weight gradient of groups of few channels: sums of products of output gradients and inputs, of a share of all
/// images and bands: [share][output channel][channel of its group][tap].
struct FewChannelsWeightGradient {
  static constexpr const char* label = "few_channels_weight_gradient";
  FewBands cut;  ///< of output gradients, which read inputs
  i64 shares;    ///< not more than images x bands
  const float *x, *dy;
  float* sums;
  Buf x_buf, dy_buf, padded_buf, sums_buf;

  CORTADO_FN i64 taps() const { return cut.down.kernel * cut.across.kernel; }
  CORTADO_FN i64 weights() const { return cut.from_channels * cut.to_channels * taps(); }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const FewChannelsWeightGradient p = *this;
    const i64 items = p.cut.images * p.cut.bands(), plane = p.cut.down.written * p.cut.across.written;
    c.lines(
        p.shares * p.cut.groups, Depth::one, [](i64 i) { return i; },
        [&](i64 i, i64&) {
          const i64 group = i % p.cut.groups, share = i / p.cut.groups, first = share * items / p.shares;
          const auto line = [&](i64 item) {
            const i64 number = first + item;
            return p.cut.line((number / p.cut.bands() * p.cut.groups + group) * p.cut.bands() + number % p.cut.bands());
          };
          auto q = c.out(p.sums_buf, p.sums + i * p.weights(), p.weights());
          c.each(p.weights(), [&](i64 t) { q.set(t, 0.0f); });
          c.pipeline((share + 1) * items / p.shares - first, Depth::two,
                     [&](i64 item) {
                       const auto at = line(item);
                       const i64 place = (at.image * p.cut.groups + group) * p.cut.to_channels * plane;
                       return gather(p.cut.get(c, p.x_buf, p.x, at),
                                     c.get2d(p.dy_buf, p.dy + place + at.row * p.cut.across.written, p.cut.to_channels,
                                             at.rows * p.cut.across.written, plane));
                     },
                     named([&](i64 item, auto in, auto gradients) { p.add(c, line(item), in, gradients, q); }));
          c.put(q);
        });
  }

 private:
  template <class C, class In, class Gradients, class Out>
  CORTADO_FN void add(C& c, const FewBands::Line& at, const In& in, const Gradients& dy, Out& q) const {
    const FewChannelsWeightGradient p = *this;
    const FewAxis &down = p.cut.down, &across = p.cut.across;
    const i64 height = down.places(at.rows), count = p.taps();
    auto padded = c.template block<float>(p.padded_buf, p.cut.from_channels * height, across.places(across.written));
    p.cut.pad(c, at, in, padded);
    for (i64 t = 0; t < p.weights(); ++t) {
      const i64 o = t / count / p.cut.from_channels, channel = t / count % p.cut.from_channels, tap = t % count;
      const i64 top = channel * height + tap / across.kernel * down.dilation,
                left = tap % across.kernel * across.dilation;
      const auto total = c.fold(
          at.rows * across.written, 0.0f, [](auto a, auto b) { return a + b; },
          [&](i64 i) {
            return dy(o, i) * padded.at(top + i / across.written * down.read, left + i % across.written * across.read);
          });
      c.once([&] { q.set(t, q.at(t) + total); });
    }
  }
};

}  // namespace cortado
