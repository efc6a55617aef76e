#pragma once
#include "core/machine/view.h"

namespace cortado {

/// `images` x `channels` x `pixels` values in nchw, pixels x channels x images in hwcn. A line is a tile of both.
/// Several channels stand together in hwcn if the tile holds all images, so tile_channels is 1 unless it does. They
/// stand together in nchw if it holds all pixels, else each channel is a piece.
struct BatchTiles {
  i64 images, channels, pixels;
  i64 tile_images, tile_channels, tile_pixels;

  CORTADO_FN i64 pixel_tiles() const { return (pixels + tile_pixels - 1) / tile_pixels; }
  CORTADO_FN i64 channel_tiles() const { return (channels + tile_channels - 1) / tile_channels; }
  CORTADO_FN i64 lines() const { return (images + tile_images - 1) / tile_images * channel_tiles() * pixel_tiles(); }
  CORTADO_FN i64 most() const { return tile_images * tile_channels * tile_pixels; }
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
};

/// Pieces of tiles in nchw, from a channel of the tile on.
struct OutermostTiles : BatchTiles {
  CORTADO_FN BlockAt where(const Tile& t, i64 channel) const {
    return {(t.image * channels + t.channel + channel) * pixels + t.pixel, t.images,
            math::min(piece_channels(), t.channels - channel) * t.pixels, channels * pixels};
  }
};
/// Tiles in hwcn.
struct InnermostTiles : BatchTiles {
  CORTADO_FN BlockAt where(const Tile& t) const {
    return {(t.pixel * channels + t.channel) * images + t.image, t.pixels, t.channels * t.images, channels * images};
  }
};

/// nchw into hwcn.
struct BatchInnermost {
  static constexpr const char* label = "batch_innermost";
  View<OutermostTiles, const float> x;
  View<InnermostTiles, float> y;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const BatchInnermost p = *this;
    each_line(c, p.y.lines(), [&](i64 line) {
      const auto t = p.y.cut.tile(line);
      const i64 each = p.x.cut.piece_channels();
      auto y = p.y.out(c, t);
      c.pipeline((t.channels + each - 1) / each, Depth::two, [&](i64 piece) { return p.x.get(c, t, piece * each); },
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
  View<InnermostTiles, const float> x;
  View<OutermostTiles, float> y;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const BatchOutermost p = *this;
    const auto fetch = [&](i64 line) { return p.x.get(c, p.x.cut.tile(line)); };
    c.lines(p.x.lines(), Depth::two, fetch, [&](i64 line, auto& x) {
      const auto t = p.x.cut.tile(line);
      const i64 each = p.y.cut.piece_channels();
      for (i64 first = 0; first < t.channels; first += each) {
        const i64 here = math::min(each, t.channels - first);
        auto y = p.y.out(c, t, first);
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

/// `images` images of `channels` channels of `pixels` values. `block` channels are innermost in the blocked array; a
/// line has `line` pixels of up to `width` channels of one block.
struct ChannelBlocks {
  i64 images, channels, pixels, block, width, line;

  CORTADO_FN i64 blocks() const { return (channels + block - 1) / block; }
  CORTADO_FN i64 parts() const { return (block + width - 1) / width; }
  CORTADO_FN i64 pieces() const { return (pixels + line - 1) / line; }
  CORTADO_FN i64 lines() const { return images * blocks() * parts() * pieces(); }
  CORTADO_FN i64 most() const { return line * width; }

  /// A line: channels that are there, places for channels, pixels, and where they begin in the plain and in the blocked
  /// array.
  struct Piece {
    i64 channels, places, pixels, plain, blocked;
  };
  CORTADO_FN Piece piece(i64 i) const {
    const i64 first = i % pieces() * line, part = i / pieces() % parts() * width, at = i / pieces() / parts(),
              image = at / blocks(), channel = at % blocks() * block + part, places = math::min(width, block - part);
    return {math::max(i64{0}, math::min(places, channels - channel)), places, math::min(line, pixels - first),
            (image * channels + channel) * pixels + first, (at * pixels + first) * block + part};
  }
};
/// Lines of the plain array: a row for each channel.
struct PlainRows : ChannelBlocks {
  CORTADO_FN BlockAt where(i64 i) const {
    const Piece p = piece(i);
    return {p.plain, p.channels, p.pixels, pixels};
  }
};
/// Lines of the blocked array: a row for each pixel.
struct BlockedRows : ChannelBlocks {
  CORTADO_FN BlockAt where(i64 i) const {
    const Piece p = piece(i);
    return {p.blocked, p.pixels, p.places, block};
  }
};

/// nchw into channel blocks, with zeros in place of channels that are not there.
template <class T>
struct BlockChannels {
  static constexpr const char* label = "block_channels";
  View<PlainRows, const T> x;
  View<BlockedRows, T> y;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const BlockChannels p = *this;
    const auto fetch = [&](i64 i) { return p.x.get(c, i); };
    c.lines(p.x.lines(), Depth::two, fetch, [&](i64 i, auto& x) {
      auto y = p.y.out(c, i);
      const i64 pixels = y.rows, here = x.rows;
      c.each2d(Range{0, pixels}, Range{0, here}, [&](i64 r, i64 j) { y.set(r, j, x(j, r)); });
      c.each2d(Range{0, pixels}, Range{here, y.cols}, [&](i64 r, i64 j) { y.set(r, j, 0.0f); });
      c.put(y);
    });
  }
};

/// Channel blocks into nchw.
template <class T>
struct UnblockChannels {
  static constexpr const char* label = "unblock_channels";
  View<BlockedRows, const T> x;
  View<PlainRows, T> y;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const UnblockChannels p = *this;
    const auto fetch = [&](i64 i) { return p.x.get(c, i); };
    c.lines(p.x.lines(), Depth::two, fetch, [&](i64 i, auto& x) {
      auto y = p.y.out(c, i);
      c.each2d(y.rows, y.cols, [&](i64 j, i64 e) { y.set(j, e, x(e, j)); });
      c.put(y);
    });
  }
};

}  // namespace cortado
