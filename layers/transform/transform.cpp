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

template <class Program>
void launch_batch(CoreGroup& group, const Shape& shape, const float* x, float* y) {
  Program p{x, y, tiles_of(group.spec(), shape), {}, {}};
  PlanBuilder book(group.spec());
  const i64 values = p.at.tile_images * p.at.tile_channels * p.at.tile_pixels;
  p.x_buf = book.line<float>("x", values, Depth::two);
  p.y_buf = book.line<float>("y", values, Depth::two);
  group.launch(p, book.plan(p.at.lines()));
}

template <class Program, class T>
void launch_blocks(CoreGroup& group, Layout blocked, const Shape& shape, const T* x, T* y) {
  Program p{x, y, {shape[0], shape[1], shape[2] * shape[3], channel_block(blocked), 0}, {}, {}};
  p.at.line = std::min(p.at.pixels, std::max<i64>(1, tile_values(group.spec()) / p.at.block));
  PlanBuilder book(group.spec());
  p.x_buf = book.line<T>("x", p.at.line * p.at.block, Depth::two);
  p.y_buf = book.line<T>("y", p.at.line * p.at.block, Depth::two);
  group.launch(p, book.plan(p.at.lines()));
}
}  // namespace

i64 floats_of(Layout layout, const Shape& shape) {
  const i64 block = channel_block(layout);
  return shape[0] * ((shape[1] + block - 1) / block * block) * shape[2] * shape[3];
}

template <class T>
void transform(CoreGroup& group, Layout from, Layout to, const Shape& shape, const T* x, T* y) {
  require(shape.size() == 4, "layouts are of N x C x H x W");
  const std::string what = std::string("transform of ") + to_string(from) + " to " + to_string(to);
  if ((from == Layout::nchw) == (to == Layout::nchw)) throw PlanError(what, "is not a program", "go through nchw");
  if (count_of(shape) == 0) return;
  if (from == Layout::hwcn || to == Layout::hwcn) {
    if constexpr (std::is_same_v<T, float>)
      return to == Layout::hwcn ? launch_batch<BatchInnermost>(group, shape, x, y)
                                : launch_batch<BatchOutermost>(group, shape, x, y);
    throw PlanError(what, "is for single precision");
  }
  if (from == Layout::nchw)
    launch_blocks<BlockChannels<T>>(group, to, shape, x, y);
  else
    launch_blocks<UnblockChannels<T>>(group, from, shape, x, y);
}

template void transform(CoreGroup&, Layout, Layout, const Shape&, const float*, float*);
template void transform(CoreGroup&, Layout, Layout, const Shape&, const bf16*, bf16*);

}  // namespace cortado
