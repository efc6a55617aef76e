#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"
#include "core/machine/sums.h"

namespace cortado {

/// The common part of BatchInnermost and BatchOutermost: `images` x `channels` x `pixels` values in nchw, pixels x
/// channels x images in hwcn. A line is a tile of both. Several channels stand together in hwcn if the tile holds all
/// images, so tile_channels is 1 unless it does. They stand together in nchw if it holds all pixels, else each channel
/// is a piece.
struct BatchTiles {
  i64 images, channels, pixels;
  i64 tile_images, tile_channels, tile_pixels;

  CORTADO_FN i64 pixel_tiles() const { return (pixels + tile_pixels - 1) / tile_pixels; }
  CORTADO_FN i64 channel_tiles() const { return (channels + tile_channels - 1) / tile_channels; }
  CORTADO_FN i64 lines() const { return (images + tile_images - 1) / tile_images * channel_tiles() * pixel_tiles(); }
  CORTADO_FN i64 piece_channels() const { return tile_pixels == pixels ? tile_channels : 1; }

  struct Tile {
    i64 image, channel, pixel;     ///< the first
    i64 images, channels, pixels;  ///< sizes
  };
  CORTADO_FN Tile tile(i64 line) const {
    const i64 pixel = line % pixel_tiles() * tile_pixels, rest = line / pixel_tiles();
    const i64 channel = rest % channel_tiles() * tile_channels, image = rest / channel_tiles() * tile_images;
    return {image,
            channel,
            pixel,
            math::min(tile_images, images - image),
            math::min(tile_channels, channels - channel),
            math::min(tile_pixels, pixels - pixel)};
  }
  /// The begin of channel `channel` of a tile in either array.
  CORTADO_FN i64 in_nchw(const Tile& t, i64 channel) const {
    return (t.image * channels + t.channel + channel) * pixels + t.pixel;
  }
  CORTADO_FN i64 in_hwcn(const Tile& t) const { return (t.pixel * channels + t.channel) * images + t.image; }
};

/// nchw into hwcn.
struct BatchInnermost {
  static constexpr const char* label = "batch_innermost";
  const float* x;
  float* y;
  BatchTiles at;
  Buf x_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const BatchInnermost p = *this;
    each_line(c, p.at.lines(), [&](i64 line) {
      const auto t = p.at.tile(line);
      const i64 each = p.at.piece_channels();
      auto y = c.out2d(p.y_buf, p.y + p.at.in_hwcn(t), t.pixels, t.channels * t.images, p.at.channels * p.at.images);
      c.pipeline((t.channels + each - 1) / each, Depth::two,
                 [&](i64 piece) {
                   return c.get2d(p.x_buf, p.x + p.at.in_nchw(t, piece * each), t.images,
                                  math::min(each, t.channels - piece * each) * t.pixels, p.at.channels * p.at.pixels);
                 },
                 [&](i64 piece, auto& x) {
                   for (i64 channel = 0; channel * t.pixels < x.cols; ++channel) {
                     const i64 from = channel * t.pixels, to = (piece * each + channel) * t.images;
                     c.each2d(Range{0, t.pixels}, Range{to, to + t.images},
                              [&](i64 pixel, i64 col) { y.set(pixel, col, x(col - to, from + pixel)); });
                   }
                 });
      c.put(y);
    });
  }
};

/// hwcn into nchw.
struct BatchOutermost {
  static constexpr const char* label = "batch_outermost";
  const float* x;
  float* y;
  BatchTiles at;
  Buf x_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const BatchOutermost p = *this;
    const auto fetch = [&](i64 line) {
      const auto t = p.at.tile(line);
      return c.get2d(p.x_buf, p.x + p.at.in_hwcn(t), t.pixels, t.channels * t.images, p.at.channels * p.at.images);
    };
    c.lines(p.at.lines(), Depth::two, fetch, [&](i64 line, auto& x) {
      const auto t = p.at.tile(line);
      const i64 each = p.at.piece_channels();
      for (i64 first = 0; first < t.channels; first += each) {
        const i64 here = math::min(each, t.channels - first);
        auto y = c.out2d(p.y_buf, p.y + p.at.in_nchw(t, first), t.images, here * t.pixels, p.at.channels * p.at.pixels);
        for (i64 channel = 0; channel < here; ++channel) {
          const i64 from = (first + channel) * t.images, to = channel * t.pixels;
          c.each2d(Range{0, t.images}, Range{to, to + t.pixels},
                   [&](i64 image, i64 col) { y.set(image, col, x(col - to, from + image)); });
        }
        c.put(y);
      }
    });
  }
};

/// The common part of BlockChannels and UnblockChannels: `images` images of `channels` channels of `pixels` values.
/// `block` channels are innermost in the blocked array; a line has `line` pixels of one block.
struct ChannelBlocks {
  i64 images, channels, pixels, block, line;

  CORTADO_FN i64 blocks() const { return (channels + block - 1) / block; }
  CORTADO_FN i64 pieces() const { return (pixels + line - 1) / line; }
  CORTADO_FN i64 lines() const { return images * blocks() * pieces(); }

  /// A line: which channels, which pixels, and where they begin in the plain and in the blocked array.
  struct Piece {
    i64 channels, pixels, plain, blocked;
  };
  CORTADO_FN Piece piece(i64 i) const {
    const i64 first = i % pieces() * line, at = i / pieces(), image = at / blocks(), channel = at % blocks() * block;
    return {math::min(block, channels - channel), math::min(line, pixels - first),
            (image * channels + channel) * pixels + first, (at * pixels + first) * block};
  }
};

/// nchw into channel blocks, with zeros in place of channels that are not there.
template <class T>
struct BlockChannels {
  static constexpr const char* label = "block_channels";
  const T* x;
  T* y;
  ChannelBlocks at;
  Buf x_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const BlockChannels p = *this;
    const auto fetch = [&](i64 i) {
      const auto piece = p.at.piece(i);
      return c.get2d(p.x_buf, p.x + piece.plain, piece.channels, piece.pixels, p.at.pixels);
    };
    c.lines(p.at.lines(), Depth::two, fetch, [&](i64 i, auto& x) {
      const auto piece = p.at.piece(i);
      const i64 block = p.at.block, here = piece.channels;
      auto y = c.out2d(p.y_buf, p.y + piece.blocked, piece.pixels, block, block);
      c.each2d(Range{0, piece.pixels}, Range{0, here}, [&](i64 r, i64 j) { y.set(r, j, x(j, r)); });
      c.each2d(Range{0, piece.pixels}, Range{here, block}, [&](i64 r, i64 j) { y.set(r, j, 0.0f); });
      c.put(y);
    });
  }
};

/// Channel blocks into nchw.
template <class T>
struct UnblockChannels {
  static constexpr const char* label = "unblock_channels";
  const T* x;
  T* y;
  ChannelBlocks at;
  Buf x_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const UnblockChannels p = *this;
    const auto fetch = [&](i64 i) {
      const auto piece = p.at.piece(i);
      return c.get(p.x_buf, p.x + piece.blocked, piece.pixels * p.at.block);
    };
    c.lines(p.at.lines(), Depth::two, fetch, [&](i64 i, auto& x) {
      const auto piece = p.at.piece(i);
      const i64 block = p.at.block;
      auto y = c.out2d(p.y_buf, p.y + piece.plain, piece.channels, piece.pixels, p.at.pixels);
      c.each2d(piece.channels, piece.pixels, [&](i64 j, i64 e) { y.set(j, e, x[e * block + j]); });
      c.put(y);
    });
  }
};

}  // namespace cortado
