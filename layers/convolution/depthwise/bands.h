#pragma once
#include "core/machine/channel_lanes.h"
#include "core/machine/math.h"
#include "core/machine/program.h"

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

  /// Rows and columns of a line's channels in an array of planes of `tall` x `wide` pixels, zero outside. LanePixels
  /// reads the box, of which a row is a pixel, or, if it is in `rows_of_blocks`, a row of pixels in blocks.
  template <class T>
  CORTADO_FN Box<T> pixels(const T* array, Layout layout, bool rows_of_blocks, i64 tall, i64 wide, const Line& at,
                           Range rows, Range cols) const {
    const T* const base = array + (at.image * channels + at.channel) * tall * wide;
    if (!rows_of_blocks) return channel_lanes(base, layout, tall, wide, at.channels, rows, cols);
    return Box<T>::matrix(base, tall, wide * block_channels, wide * block_channels, rows.first,
                          cols.first * block_channels, rows.count(), cols.count() * block_channels);
  }
};

/// The pixels that were staged of a line, in rows of `width`.
template <bool blocks, class Block>
struct LanePixels {
  Block block;
  i64 width;

  CORTADO_FN auto operator()(i64 row, i64 col, i64 lane) const {
    if constexpr (blocks)
      return block(row, col * block_channels + lane);
    else
      return block(row * width + col, lane);
  }
};

/// Inputs of groups of several channels, as often as a group has channels: lane l of copy i holds input i of its group.
/// Copies lie one below the other.
template <class Block>
struct ChannelCopies {
  Block block;
  CORTADO_FN auto operator()(i64 row, i64 col) const { return block.at(row, col); }
};

/// Fills a private block with the copies of rows x cols staged pixels.
template <i64 copies, class C, class Block, class From>
CORTADO_FN void copy_channels(C& c, Block& block, i64 rows, i64 cols, const From& from) {
  for (i64 row = 0; row < rows; ++row)
    for (i64 first = 0; first < cols * block_channels; first += copies) CORTADO_UNROLL
  for (i64 i = 0; i < copies; ++i)
    c.each(Range{first, first + copies}, [&](i64 column) { block.set(i * rows + row, column, from(row, first + i)); });
}

/// The copies of staged pixels in blocks; groups of two, four or eight channels.
template <class C, class From>
CORTADO_FN auto channel_copies(C& c, Buf buf, i64 copies, i64 rows, i64 cols, const From& from) {
  auto block = c.template block<float>(buf, copies * rows, cols * block_channels);
  switch (copies) {
    case 2: copy_channels<2>(c, block, rows, cols, from); break;
    case 4: copy_channels<4>(c, block, rows, cols, from); break;
    default: copy_channels<8>(c, block, rows, cols, from);
  }
  return LanePixels<true, ChannelCopies<decltype(block)>>{{block}, cols};
}

}  // namespace cortado
