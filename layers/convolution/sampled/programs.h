#pragma once
#include "core/machine/view.h"
#include "layers/channels/other_gradient.h"

namespace cortado {

/// Pixels that a kernel of one pixel reads at strides, in blocks of channels: row y, column x of the samples is row
/// y sh, column x sw of the array.
struct Samples {
  i64 blocks;  ///< of channels, in all images
  i64 ih, iw, oh, ow, sh, sw;

  /// Row `y` of the samples in block `block` of the array.
  CORTADO_FN i64 place(i64 block, i64 y) const { return (block * ih + y * sh) * iw * block_channels; }
};
/// Lines of samples in the array: a row each.
struct SampledRows : Samples {
  CORTADO_FN i64 lines() const { return blocks * oh; }
  CORTADO_FN i64 most() const { return ow * block_channels; }
  CORTADO_FN BlockAt where(i64 line) const {
    return {place(line / oh, line % oh), ow, block_channels, sw * block_channels};
  }
};
/// Lines of samples by themselves.
struct DenseRows : Samples {
  CORTADO_FN i64 lines() const { return blocks * oh; }
  CORTADO_FN i64 most() const { return ow * block_channels; }
  CORTADO_FN BlockAt where(i64 line) const { return {line * ow * block_channels, ow, block_channels, block_channels}; }
};

/// The samples of x, dense.
template <class T>
struct SamplePixels {
  static constexpr const char* label = "sample_pixels";
  View<SampledRows, const T> x;
  View<DenseRows, T> y;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SamplePixels p = *this;
    each_line(c, p.x, [&](i64 line, auto& x) {
      auto y = p.y.out(c, line);
      c.each2d(x.rows, block_channels, [&](i64 r, i64 lane) { y.set(r, lane, x(r, lane)); });
      c.put(y);
    });
  }
};

/// The gradient of an array from that of its samples: zero elsewhere, or the other gradient of a blob with two readers.
/// A line is a row of the array.
template <class T>
struct SpreadPixels {
  static constexpr const char* label = "spread_pixels";
  View<DenseRows, const T> dy;
  T* dx;
  Buf dx_buf;
  OtherGradient<T> other;

  CORTADO_FN i64 lines() const { return dy.cut.blocks * dy.cut.ih; }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SpreadPixels p = *this;
    const i64 iw = p.dy.cut.iw, values = iw * block_channels, sw = p.dy.cut.sw;
    const auto at = [sw](const auto& dy, i64 pixel, i64 lane) {
      const i64 sample = pixel / sw;
      return sample * sw == pixel && sample < dy.rows ? static_cast<float>(dy(sample, lane)) : 0.0f;
    };
    if (p.other.values == nullptr) {
      c.lines(
          p.lines(), Depth::two, [&](i64 line) { return p.samples(c, line); },
          [&](i64 line, auto& dy) {
            auto dx = p.row(c, line);
            c.each2d(iw, block_channels, [&](i64 r, i64 lane) { dx.set(r, lane, at(dy, r, lane)); });
            c.put(dx);
          });
      return;
    }
    const auto fetch = [&](i64 line) {
      const i64 first = line * values;
      return gather(p.samples(c, line),
                    c.get2d(p.other.values_buf, p.other.values + first, iw, block_channels, block_channels),
                    c.get2d(p.other.x_buf, p.other.x + first, iw, block_channels, block_channels));
    };
    const float slope = p.other.slope;
    c.lines(p.lines(), Depth::two, fetch, named([&](i64 line, const auto& dy, const auto& other, const auto& x) {
              auto dx = p.row(c, line);
              c.each2d(iw, block_channels, [&](i64 r, i64 lane) {
                const auto v = at(dy, r, lane) + other(r, lane);
                dx.set(r, lane, math::select(x(r, lane) > 0.0f, v, slope * v));
              });
              c.put(dx);
            }));
  }

  /// The samples in that row of the array; none where it has none.
  template <class C>
  CORTADO_FN auto samples(C& c, i64 line) const {
    const Samples& s = dy.cut;
    const i64 block = line / s.ih, row = line % s.ih, y = row / s.sh;
    const bool has = row == y * s.sh && y < s.oh;
    return c.get2d(dy.buf, dy.array + (block * s.oh + (has ? y : 0)) * dy.cut.most(), has ? s.ow : 0, block_channels,
                   block_channels);
  }
  template <class C>
  CORTADO_FN auto row(C& c, i64 line) const {
    const i64 iw = dy.cut.iw;
    return c.out2d(dx_buf, dx + line * iw * block_channels, iw, block_channels, block_channels);
  }
};

}  // namespace cortado
