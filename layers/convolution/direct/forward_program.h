#pragma once
#include "core/machine/gather.h"
#include "core/machine/integers.h"
#include "core/machine/math.h"
#include "core/machine/windows.h"
#include "layers/channels/channel_map.h"
#include "layers/channels/other_gradient.h"
#include "layers/channels/sums.h"
#include "layers/convolution/direct/packed_weights.h"
#include "layers/convolution/direct/tiles.h"
#include "layers/convolution/set_or_add.h"

namespace cortado {

/// Forward convolution with vectors along output channels: a block of pixels with its halo is staged as it lies in
/// memory, and each pixel's inputs, wherever the kernel position finds them, multiply whole vectors of packed weights.
/// So strides, dilations and narrow images cost nothing; sums are turned back to rows of pixels when they are stored.
/// Terms that follow each other without a jump are the channels of a kernel position, or the columns of a kernel row
/// where those are more; in blocks, a kernel row's columns with sixteen channels of each, and sums are stored as they
/// are. Columns of a kernel that is dilated across follow each other in taps.
template <class T>
struct DirectForward {
  static constexpr const char* label = "direct_forward";
  ConvolutionSizes s;
  PackedWeights packed;
  const T* x;
  const Operand<T>* w;
  T* y;
  i64 y_plane, y_row, y_col;  ///< how far apart in y channels, rows and columns are
  /// Sums of a y in blocks: for each tile of pixels the sums over each channel's values and over their squares,
  /// [tile][2][oc]; nullptr means none.
  float* sums;
  ChannelMap map;
  OtherGradient<T> other;  ///< of a y in blocks whose columns follow each other
  DirectTiles tile;
  Buf x_buf, w_buf, acc_buf, sums_buf, y_buf;

  /// Tiles of pixels.
  CORTADO_FN i64 pixel_tiles() const {
    return ceil_div(s.images, tile.images) * ceil_div(s.oh, tile.rows) * ceil_div(s.ow, tile.cols);
  }
  CORTADO_FN Halo halo() const { return {s, tile}; }
  CORTADO_FN bool in_blocks() const { return s.src == Layout::nchw16c; }
  /// True for blocks in which a kernel row's columns do not follow each other; a slice then is sixteen channels.
  CORTADO_FN bool spreads_columns() const { return in_blocks() && s.kw > 1 && s.dw > 1; }
  /// True for blocks in which pixels are skipped; a tile then has one image.
  CORTADO_FN bool skips_pixels() const { return in_blocks() && s.kw == 1 && s.sw > 1; }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const DirectForward p = *this;
    const i64 panel_blocks = ceil_div(p.packed.panels(), p.tile.panels), row_blocks = ceil_div(p.s.oh, p.tile.rows),
              col_blocks = ceil_div(p.s.ow, p.tile.cols), image_blocks = ceil_div(p.s.images, p.tile.images);
    const auto place = [p, panel_blocks, row_blocks, col_blocks](i64 block) {
      Place at;
      at.panel = block % panel_blocks * p.tile.panels;
      block /= panel_blocks;
      at.col = block % col_blocks * p.tile.cols;
      block /= col_blocks;
      at.row = block % row_blocks * p.tile.rows;
      block /= row_blocks;
      at.group = block % p.s.g;
      at.image = block / p.s.g * p.tile.images;
      at.panels = math::min(p.tile.panels, p.packed.panels() - at.panel);
      at.rows = math::min(p.tile.rows, p.s.oh - at.row);
      at.cols = math::min(p.tile.cols, p.s.ow - at.col);
      at.images = math::min(p.tile.images, p.s.images - at.image);
      return at;
    };
    c.tiles(
        image_blocks * p.s.g * row_blocks * col_blocks * panel_blocks, p.packed.slices(), Depth::one,
        [&](i64) { return c.template sums<float>(p.acc_buf, p.shape()); },
        [&](i64 block, i64 step) {
          const Place at = place(block);
          return gather(at, both(p.pixels(c, at, step), p.weights(c, at, step)));
        },
        named([&](i64 step, const Place& at, auto& operands, auto& acc) {
          p.each_row(at, [&](i64 panel, i64 image, i64 row) {
            auto sums = c.rows(acc, p.sums_of(panel, image, row), at.cols);
            set_or_add(c, step, sums, operands, p.taps(panel, image, row, at.row + row));
          });
        }),
        [&](i64 block, auto& acc) {
          const Place at = place(block);
          if (p.map.is_there()) return p.write_mapped(c, at, acc);
          if (p.sums != nullptr) p.leave_sums(c, at, acc);
          p.each_row(at, [&](i64 panel, i64 image, i64 row) {
            const auto rows = c.rows(acc, p.sums_of(panel, image, row), at.cols);
            const auto to = p.destination(at, panel, image, row);
            if (p.other.values == nullptr) return c.store(rows, to, [](float value, float, i64, i64) { return value; });
            p.other.join(
                c, math::min(p.packed.panel / block_channels, to.limit1), p.y_buf, p.y,
                [&](i64 i) {
                  return BlockRun{to.base - p.y + i * to.pitch1, at.cols};
                },
                [&](i64 i, i64 pixel, i64 lane) { return rows(pixel, i * block_channels + lane); });
          });
        });
  }

 private:
  struct Place {
    i64 image, group, panel, row, col;  ///< the first of each
    i64 images, panels, rows, cols;     ///< how many
  };
  CORTADO_FN bool by_columns() const { return !in_blocks() && s.kw > packed.slice; }
  CORTADO_FN TileShape shape() const {
    TileShape t;
    t.m = tile.panels * tile.images * tile.rows * tile.cols;
    t.set_columns(packed.panel, s.dst);
    t.k = spreads_columns() ? packed.unit : in_blocks() ? s.kw * packed.unit : by_columns() ? s.kw : packed.slice;
    return t;
  }
  /// First row of sums of a row of pixels.
  CORTADO_FN i64 sums_of(i64 panel, i64 image, i64 row) const {
    return ((panel * tile.images + image) * tile.rows + row) * tile.cols;
  }
  template <class F>
  CORTADO_FN void each_row(const Place& at, F f) const {
    for (i64 panel = 0; panel < at.panels; ++panel)
      for (i64 image = 0; image < at.images; ++image)
        for (i64 row = 0; row < at.rows; ++row) f(panel, image, row);
  }
  template <class C, class Sums>
  CORTADO_FN void write_mapped(C& c, const Place& at, Sums& acc) const {
    const DirectForward p = *this;
    for (i64 panel = 0; panel < at.panels; ++panel) {
      const i64 channel = at.group * s.group_oc() + (at.panel + panel) * packed.panel;
      const auto mapped = map.values(c, channel, packed.panel);
      for (i64 image = 0; image < at.images; ++image)
        for (i64 row = 0; row < at.rows; ++row)
          c.store(c.rows(acc, p.sums_of(panel, image, row), at.cols), p.destination(at, panel, image, row),
                  [&](float value, float, i64, i64 lane) { return mapped(value, lane); });
    }
  }
  /// A tile's rows of sums follow each other without gaps unless it hangs over an edge.
  template <class C, class Sums>
  CORTADO_FN void leave_sums(C& c, const Place& at, Sums& acc) const {
    const i64 part =
        (at.image / tile.images * ceil_div(s.oh, tile.rows) + at.row / tile.rows) * ceil_div(s.ow, tile.cols) +
        at.col / tile.cols;
    const bool whole = at.rows == tile.rows && at.cols == tile.cols;
    const i64 runs = whole ? 1 : at.images * at.rows, pixels = whole ? at.images * at.rows * at.cols : at.cols;
    for (i64 panel = 0; panel < at.panels; ++panel)
      for (i64 lane = 0; lane < packed.panel; lane += block_channels) {
        const i64 channel = (at.panel + panel) * packed.panel + lane;
        if (channel >= s.group_oc()) break;
        auto left = part_sums(c, sums_buf, sums, s.oc, part, at.group * s.group_oc() + channel);
        clear_sums(c, left);
        for (i64 run = 0; run < runs; ++run) {
          const auto rows = c.rows(acc, sums_of(panel, run / at.rows, run % at.rows), pixels);
          add_distances(
              c, [&](i64 pixel, i64 i) { return rows(pixel, lane + i); }, pixels, ChannelValues<block_channels>{},
              left);
        }
        c.put(left);
      }
  }
  /// Kernel rows that meet padding alone add nothing.
  CORTADO_FN Taps taps(i64 panel, i64 image, i64 row, i64 row_of_image) const {
    const Halo h = halo();
    const Range kernel = outputs_inside(row_of_image * s.sh - s.ph, s.dh, s.ih, s.kh);
    Taps t;
    if (in_blocks()) {
      t.count1 = packed.slice / packed.unit;
      t.count0 = kernel.count();
      t.a1 = h.plane() * packed.unit;
      t.a0 = s.dh * h.cols * packed.unit;
      t.a = image * packed.slice * h.plane() + row * h.stride_y * h.cols * packed.unit + kernel.first * t.a0;
      t.b0 = s.kw * packed.unit * packed.panel;
      t.b1 = packed.taps * packed.unit * packed.panel;
      t.b = panel * packed.piece() + kernel.first * t.b0;
      if (spreads_columns()) t.count1 = s.kw, t.a1 = s.dw * packed.unit, t.b1 = packed.unit * packed.panel;
      return t;
    }
    t.count1 = kernel.count();
    t.count0 = by_columns() ? packed.slice : s.kw;
    t.a1 = s.dh * h.cols;
    t.a0 = by_columns() ? h.plane() : s.dw;
    t.a = image * packed.slice * h.plane() + row * h.stride_y * h.cols + kernel.first * t.a1;
    t.b0 = (by_columns() ? 1 : packed.slice) * packed.panel;
    t.b1 = s.kw * packed.slice * packed.panel;
    t.b = panel * packed.piece() + kernel.first * t.b1;
    return t;
  }

  template <class C>
  CORTADO_FN auto pixels(C& c, const Place& at, i64 step) const {
    if (in_blocks()) return blocks_of_pixels(c, at, step);
    Box<T> box;
    box.base = x + at.group * s.group_ic() * s.ih * s.iw;
    const i64 extent[4] = {s.images, s.group_ic(), s.ih, s.iw}, pitch[4] = {s.ic * s.ih * s.iw, s.ih * s.iw, s.iw, 1};
    const i64 origin[4] = {at.image, step * packed.slice * OperandOf<T>::terms, at.row * s.sh - s.ph,
                           at.col * s.sw - s.pw};
    const Halo h = halo();
    const i64 size[4] = {tile.images, packed.slice, h.rows, h.cols};
    box.set(extent, pitch, origin, size);
    box.step[2] = h.step_y, box.step[3] = h.step_x;
    if (OperandOf<T>::terms > 1) box.paired = 1;
    return c.stage_a(x_buf, box, LeftView{h.stride_x, by_columns() ? s.dw : h.plane()});
  }

  /// Operands lie as they are multiplied: a pixel's sixteen channels, or eight pairs, next to each other.
  template <class C>
  CORTADO_FN auto blocks_of_pixels(C& c, const Place& at, i64 step) const {
    constexpr i64 together = OperandOf<T>::terms;
    const i64 unit = packed.unit, plane = s.ih * s.iw;
    Box<Operand<T>> box;
    box.base = reinterpret_cast<const Operand<T>*>(x) + at.group * s.group_ic() / together * plane;
    const i64 extent[4] = {s.images, s.group_ic() / block_channels, s.ih, s.iw * unit},
              pitch[4] = {s.ic / together * plane, plane * unit, s.iw * unit, 1};
    const i64 origin[4] = {at.image, step * packed.slice / unit, at.row * s.sh - s.ph, (at.col * s.sw - s.pw) * unit};
    const Halo h = halo();
    const i64 size[4] = {tile.images, packed.slice / unit, h.rows, h.cols * unit};
    box.set(extent, pitch, origin, size);
    box.step[2] = h.step_y;
    if (skips_pixels()) {  // blocks, rows, columns, channels of one image
      box.base += at.image * pitch[0];
      const i64 extents[4] = {extent[1], s.ih, s.iw, unit}, pitches[4] = {pitch[1], pitch[2], unit, 1};
      const i64 origins[4] = {origin[1], origin[2], at.col * s.sw - s.pw, 0},
                sizes[4] = {size[1], h.rows, h.cols, unit};
      box.set(extents, pitches, origins, sizes);
      box.step[1] = h.step_y, box.step[2] = h.step_x;
    }
    return c.stage_a(x_buf, box, LeftView{h.stride_x * unit, 1});
  }

  template <class C>
  CORTADO_FN auto weights(C& c, const Place& at, i64 step) const {
    const i64 count = at.panels * packed.piece();
    RightView view;
    view.k_stride = (by_columns() ? packed.slice : 1) * packed.panel;
    view.n1_stride = block_channels;
    const auto* const from = w + packed.place(at.group, step, at.panel);
    return c.stage_b(w_buf, Box<Operand<T>>::matrix(from, 1, count, 0, 0, 0, 1, count), view);
  }

  CORTADO_FN OutBox<T> destination(const Place& at, i64 panel, i64 image, i64 row) const {
    OutBox<T> box;
    const i64 oc = (at.panel + panel) * packed.panel, pixel = channel_block(s.dst);
    box.base = y + ((at.image + image) * s.oc + at.group * s.group_oc() + oc) * y_plane +
               ((at.row + row) * y_row + at.col * y_col) * pixel;
    box.rows = at.cols;
    box.pitch_m = y_col * pixel;
    box.reads_old = false;
    if (s.dst == Layout::nchw16c) {
      box.limit1 = (s.group_oc() - oc) / block_channels;
      box.pitch1 = y_plane * block_channels;
      box.limit0 = block_channels;
    } else {
      box.limit0 = s.group_oc() - oc;
      box.pitch0 = y_plane;
    }
    return box;
  }
};

}  // namespace cortado
