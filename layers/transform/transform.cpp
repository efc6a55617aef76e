#include "layers/transform/transform.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "layers/transform/programs.h"

namespace cortado {
namespace {
constexpr i64 element = sizeof(float);

/// Values of a tile whose input and output both get two slots. Caches gain nothing from more than a scratchpad's worth.
i64 tile_values(const MachineSpec& spec) { return std::min<i64>(spec.scratch_bytes, 64 * 1024) / 4 / element; }

i64 round_down(i64 n, i64 to) { return std::max(to, n / to * to); }

/// Tiles that give both arrays runs of about equal length: as many images, or images of several channels, as pixels.
void choose_tile(const MachineSpec& spec, BatchTiles& t) {
  const i64 values = tile_values(spec), vector = std::max<i64>(1, spec.simd_bytes / element);
  const i64 side = round_down(static_cast<i64>(std::sqrt(static_cast<double>(values))), vector);
  t.tile_images = std::min(t.images, std::max(side, round_down(values / t.pixels, vector)));
  const bool whole = t.tile_images == t.images;
  t.tile_channels = whole ? std::min(t.channels, (side + t.images - 1) / t.images) : 1;
  t.tile_pixels = std::min(t.pixels, round_down(values / (t.tile_images * t.tile_channels), vector));
  if (!whole || t.tile_pixels < t.pixels) return;
  const i64 fit = std::max<i64>(1, values / (t.images * t.pixels)), spread = (t.channels + spec.cpes - 1) / spec.cpes;
  t.tile_channels = std::min(fit, std::max(t.tile_channels, spread));
}

/// The batch and the channels of one pixel or of one image are a matrix with two axes that matter: channels take the
/// place of the axis that is 1, so that its runs are not.
BatchTiles tiles_of(const MachineSpec& spec, const Shape& shape) {
  BatchTiles t{shape[0], shape[1], shape[2] * shape[3], 1, 1, 1};
  if (t.images == 1)
    std::swap(t.images, t.channels);
  else if (t.pixels == 1)
    std::swap(t.pixels, t.channels);
  choose_tile(spec, t);
  return t;
}

/// Lines of as many channels of a block as pixels, about, so that both arrays have runs; of all channels of small
/// blocks.
ChannelBlocks blocks_of(const MachineSpec& spec, const Shape& shape, i64 block) {
  const i64 values = tile_values(spec), side = static_cast<i64>(std::sqrt(static_cast<double>(values)));
  ChannelBlocks s{shape[0], shape[1], shape[2] * shape[3], block, std::min(block, std::max(block_channels, side)), 1};
  s.line = std::min(s.pixels, std::max<i64>(1, values / s.width));
  return s;
}

/// Launches a program of x and y.
template <class Program, class From, class To, class T>
void launch(CoreGroup& group, const T* x, const From& from, T* y, const To& to) {
  PlanBuilder book(group.spec());
  const Program p{reads(book, "x", x, from), writes(book, "y", y, to, Depth::two)};
  group.launch(p, book.plan(from.lines()));
}
}  // namespace

i64 floats_of(Layout layout, const Shape& shape) {
  const i64 block = std::max<i64>(1, channel_block(layout, shape[1]));
  return shape[0] * ((shape[1] + block - 1) / block * block) * shape[2] * shape[3];
}

template <class T>
void transform(CoreGroup& group, Layout from, Layout to, const Shape& shape, const T* x, T* y) {
  require(shape.size() == 4, "layouts are of N x C x H x W");
  const std::string what = std::string("transform of ") + to_string(from) + " to " + to_string(to);
  if ((from == Layout::nchw) == (to == Layout::nchw)) throw PlanError(what, "is not a program", "go through nchw");
  if (count_of(shape) == 0) return;
  if (from == Layout::hwcn || to == Layout::hwcn) {
    if constexpr (std::is_same_v<T, float>) {
      const BatchTiles tiles = tiles_of(group.spec(), shape);
      const OutermostTiles nchw{tiles};
      const InnermostTiles hwcn{tiles};
      return to == Layout::hwcn ? launch<BatchInnermost>(group, x, nchw, y, hwcn)
                                : launch<BatchOutermost>(group, x, hwcn, y, nchw);
    }
    throw PlanError(what, "is for single precision");
  }
  const ChannelBlocks s = blocks_of(group.spec(), shape, channel_block(from == Layout::nchw ? to : from, shape[1]));
  if (from == Layout::nchw)
    launch<BlockChannels<T>>(group, x, PlainRows{s}, y, BlockedRows{s});
  else
    launch<UnblockChannels<T>>(group, x, BlockedRows{s}, y, PlainRows{s});
}

template void transform(CoreGroup&, Layout, Layout, const Shape&, const float*, float*);
template void transform(CoreGroup&, Layout, Layout, const Shape&, const bf16*, bf16*);

}  // namespace cortado
