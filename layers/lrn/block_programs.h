#pragma once
#include "core/base/layout.h"
#include "layers/lrn/shape.h"

namespace cortado {

/// All channels of a line's pixels, a row for each, of an array in blocks of sixteen channels.
template <class T>
CORTADO_FN Box<T> channel_rows(const T* array, const LrnShape& s, i64 line) {
  Box<T> box;
  box.base = array + line / s.blocks() * s.channels * s.plane();
  const i64 extent[4] = {1, s.channels / block_channels, block_channels, s.plane()},
            pitch[4] = {0, s.plane() * block_channels, 1, block_channels};
  const i64 origin[4] = {0, 0, 0, line % s.blocks() * s.block}, size[4] = {1, extent[1], block_channels, s.block};
  box.set(extent, pitch, origin, size);
  return box;
}

/// Rows of sixteen channels from `first` on, which are turned on their way back to such an array.
template <class C, class T>
CORTADO_FN auto out_channel_rows(C& c, Buf buf, T* array, const LrnShape& s, i64 line, i64 first, i64 pixels) {
  T* const to =
      array + (line / s.blocks() * s.channels + first) * s.plane() + line % s.blocks() * s.block * block_channels;
  return c.out_turned(buf, to, block_channels, pixels, block_channels, pixels);
}

/// LrnForward across channels of arrays in blocks; `scale` is in planes.
template <class T>
struct LrnBlocksForward {
  static constexpr const char* label = "lrn_blocks_forward";
  LrnShape s;
  const T* x;
  float* scale;
  T* y;
  Buf x_buf, scale_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const LrnBlocksForward p = *this;
    c.lines(
        p.s.lines(), Depth::one, [&](i64 i) { return c.stage(p.x_buf, channel_rows(p.x, p.s, i)); },
        [&](i64 i, auto& in) {
          const auto part = p.s.part(i);
          const LrnShape s = p.s;
          const auto x = in;
          auto scale = c.out2d(p.scale_buf, p.scale + part.own_offset, part.own_rows, part.cols, part.pitch);
          s.with_power([&](auto power) {
            for (i64 first = 0; first < s.channels; first += block_channels) {
              auto y = out_channel_rows(c, p.y_buf, p.y, s, i, first, part.cols);
              for (i64 row = first; row < first + block_channels; ++row) {
                const Range cols{0, part.cols};
                c.each2d(Range{row, row + 1}, cols, [&](i64 r, i64 q) { scale.set(r, q, s.k); });
                s.add_windows(c, part, row, row, s.share, scale, [&](i64 a, i64 b) { return x(a, b) * x(a, b); });
                c.each2d(Range{row - first, row - first + 1}, cols,
                         [&](i64 r, i64 q) { y.set(r, q, x(r + first, q) * power(scale.at(r + first, q))); });
              }
              c.put(y);
            }
          });
          c.put(scale);
        });
  }
};

/// LrnBackwardAcross of arrays in blocks; `scale` is in planes.
template <class T>
struct LrnBlocksBackward {
  static constexpr const char* label = "lrn_blocks_backward";
  LrnShape s;
  const T* x;
  const float* scale;
  const T* dy;
  T* dx;
  float* ring;  ///< s.ring_floats() for each line
  Buf x_buf, scale_buf, dy_buf, dx_buf, ring_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const LrnBlocksBackward p = *this;
    c.lines(
        p.s.lines(), Depth::one,
        [&](i64 i) {
          const auto at = p.s.part(i);
          return both(c.stage(p.x_buf, channel_rows(p.x, p.s, i)),
                      both(c.get2d(p.scale_buf, p.scale + at.offset, at.rows, at.cols, at.pitch),
                           c.stage(p.dy_buf, channel_rows(p.dy, p.s, i))));
        },
        [&](i64 i, auto& in) {
          const auto at = p.s.part(i);
          const LrnShape s = p.s;
          auto ring = c.out2d(p.ring_buf, p.ring + i * s.ring_floats(), s.ring_rows() + 1, at.cols, at.cols);
          i64 newest = 0;  // term that is not in the ring yet
          s.with_power([&](auto power) {
            for (i64 first = 0; first < s.channels; first += block_channels) {
              auto dx = out_channel_rows(c, p.dx_buf, p.dx, s, i, first, at.cols);
              for (i64 row = first; row < first + block_channels; ++row) {
                for (; newest < math::min(at.rows, row + s.reach + 1); ++newest)
                  s.add_term(c, ring, newest, at.cols, in.first, in.second.first, in.second.second, power);
                s.sum_ring(c, ring, row, at.rows, at.cols);
                c.each2d(Range{row - first, row - first + 1}, Range{0, at.cols}, [&](i64 r, i64 q) {
                  const i64 from = r + first;
                  dx.set(r, q,
                         in.second.second(from, q) * power(in.second.first(from, q)) +
                             in.first(from, q) * ring.at(s.ring_rows(), q));
                });
              }
              c.put(dx);
            }
          });
          c.put(ring);
        });
  }
};

}  // namespace cortado
