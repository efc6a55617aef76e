#pragma once
#include "core/machine/math.h"
#include "core/machine/parts.h"
#include "core/machine/program.h"
#include "core/machine/windows.h"
#include "layers/channels/block_programs.h"
#include "layers/convolution/set_or_add.h"
#include "layers/convolution/sizes.h"

namespace cortado {

/// How direct plans keep weights, as operands: floats, or pairs of bf16 that follow each other among the terms:
/// [group][slice of terms][panel of outputs], and of each the piece that a step multiplies, whole vectors long, zero
/// beyond the last channel: [unit of terms][kernel position][term][lane]; in weight gradients [term][kernel
/// position][lane]. Terms are input channels (or pairs of them), outputs output channels; for the input gradient the
/// other way round.
struct PackedWeights {
  i64 g, outputs, terms, taps;  ///< per group
  i64 panel, slice;             ///< outputs of a panel, terms of a slice
  i64 unit;                     ///< terms of a slice that follow each other: all, or those next to each other in blocks

  CORTADO_FN i64 panels() const { return ceil_div(outputs, panel); }
  CORTADO_FN i64 slices() const { return ceil_div(terms, slice); }
  CORTADO_FN i64 piece() const { return taps * slice * panel; }
  CORTADO_FN i64 pieces() const { return g * slices() * panels(); }
  CORTADO_FN i64 floats() const { return pieces() * piece(); }
  /// Where the piece of a panel begins.
  CORTADO_FN i64 place(i64 group, i64 slice_index, i64 panel_index) const {
    return ((group * slices() + slice_index) * panels() + panel_index) * piece();
  }

  /// Where piece `i`, counted as they lie, comes from: its group, its first term and its first output.
  struct Place {
    i64 group, term, output;
  };
  CORTADO_FN Place place_of(i64 i) const {
    return {i / panels() / slices(), i / panels() % slices() * slice, i % panels() * panel};
  }
};

/// Weights (oc x ic/g x kh x kw) to PackedWeights for activations of T. A line is one panel of one slice, whose weights
/// come turned: a row for each channel and kernel position, a column for each output.
template <class T>
struct PackWeights {
  static constexpr const char* label = "pack_weights";
  static constexpr i64 together = OperandOf<T>::terms;  ///< channels in a term
  const float* w;
  Operand<T>* to;
  PackedWeights packed;
  i64 channels;                     ///< of a group
  i64 output_pitch, channel_pitch;  ///< in w
  i64 group_pitch, kw, kernel;      ///< weights of a group; columns and size of a whole kernel
  KernelPart y, x;
  Buf from_buf, to_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PackWeights p = *this;
    const i64 slice = p.packed.slice, panel = p.packed.panel;
    c.lines(
        p.packed.pieces(), Depth::one,
        [&](i64 line) {
          const auto from = p.packed.place_of(line);
          Box<float> box;
          box.base = p.w + from.group * p.group_pitch;
          const i64 extent[4] = {1, p.channels, p.kernel, p.packed.outputs},
                    pitch[4] = {0, p.channel_pitch, 1, p.output_pitch};
          const i64 origin[4] = {0, from.term * together, 0, from.output},
                    size[4] = {1, slice * together, p.kernel, panel};
          box.set(extent, pitch, origin, size);
          return c.stage(p.from_buf, box);
        },
        [&](i64 line, auto& in) {
          const i64 taps = p.packed.taps, unit = p.packed.unit;
          Operand<T>* const to = p.to + line * p.packed.piece();
          for (i64 i = 0; i < taps * slice / unit; ++i) {
            const i64 t = i % taps, term = i / taps * unit;
            const i64 tap = p.y.position(t / p.x.count) * p.kw + p.x.position(t % p.x.count);
            auto q = c.out_streamed(p.to_buf, to + i * unit * panel, unit, panel, panel);
            c.each2d(unit, panel,
                     [&](i64 r, i64 j) { q.set(r, j, p.operand(in, (term + r) * together * p.kernel + tap, j)); });
            c.put(q);
          }
        });
  }

 private:
  /// Element (r, j) of the staged weights, with that of the next channel in a pair.
  template <class In>
  CORTADO_FN auto operand(const In& in, i64 r, i64 j) const {
    if constexpr (together == 1)
      return in(r, j);
    else
      return bf16x2{in(r, j), in(r + kernel, j)};
  }
};

/// Tile sizes of the direct plans.
struct DirectTiles {
  i64 images, rows, cols;  ///< pixels of a block: rows x cols of each of `images` images
  i64 panels;              ///< panels of output channels of a block

  bool operator==(const DirectTiles& o) const {
    return images == o.images && rows == o.rows && cols == o.cols && panels == o.panels;
  }
};

/// The inputs under rows x cols pixels, as staged. A kernel one position wide sees every stride-th input only, and only
/// those are staged, unless `whole_rows` are.
struct Halo {
  i64 step_y, step_x;      ///< from one staged input to the next
  i64 stride_y, stride_x;  ///< from one pixel's inputs to the next one's, in staged inputs
  i64 rows, cols;

  CORTADO_FN Halo(const ConvolutionSizes& s, const DirectTiles& t, bool whole_rows = false)
      : step_y(s.kh == 1 ? s.sh : 1),
        step_x(s.kw == 1 && !whole_rows ? s.sw : 1),
        stride_y(s.sh / step_y),
        stride_x(s.sw / step_x),
        rows(s.kh == 1 ? t.rows : s.rows_under(t.rows)),
        cols(s.kw == 1 && !whole_rows ? t.cols : s.cols_under(t.cols)) {}
  CORTADO_FN i64 plane() const { return rows * cols; }
};

/// Forward convolution with vectors along output channels: a block of pixels with its halo is staged as it lies in
/// memory, and each pixel's inputs, wherever the kernel position finds them, multiply whole vectors of packed weights.
/// So strides, dilations and narrow images cost nothing; sums are turned back to rows of pixels when they are stored.
/// What follows each other without a jump is the channels of a kernel position, or the columns of a kernel row where
/// those are more; in blocks, a kernel row's columns with sixteen channels of each, and sums are stored as they are.
template <class T>
struct DirectForward {
  static constexpr const char* label = "direct_forward";
  ConvolutionSizes s;
  PackedWeights packed;
  const T* x;
  const Operand<T>* w;
  T* y;
  i64 y_plane, y_row, y_col;  ///< how far apart in y channels, rows and columns are
  /// Of a y in blocks: for each tile of pixels the sums over each channel's values and over their squares,
  /// [tile][2][oc]; null: none.
  float* sums;
  OtherGradient<T> other;  ///< of a y in blocks whose columns follow each other
  DirectTiles tile;
  Buf x_buf, w_buf, acc_buf, sums_buf, y_buf;

  /// Tiles of pixels.
  CORTADO_FN i64 pixel_tiles() const {
    return ceil_div(s.images, tile.images) * ceil_div(s.oh, tile.rows) * ceil_div(s.ow, tile.cols);
  }
  CORTADO_FN Halo halo() const { return {s, tile}; }
  CORTADO_FN bool in_blocks() const { return s.src == Layout::nchw16c; }
  /// Of blocks; a tile then has one image.
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
          return both(at, both(p.pixels(c, at, step), p.weights(c, at, step)));
        },
        [&](i64 step, auto& in, auto& acc) {
          const Place& at = in.first;
          p.each_row(at, [&](i64 panel, i64 image, i64 row) {
            auto sums = c.rows(acc, p.sums_of(panel, image, row), at.cols);
            set_or_add(c, step, sums, in.second, p.taps(panel, image, row, at.row + row));
          });
        },
        [&](i64 block, auto& acc) {
          const Place at = place(block);
          if (p.sums != nullptr) p.leave_sums(c, at, acc);
          p.each_row(at, [&](i64 panel, i64 image, i64 row) {
            const auto rows = c.rows(acc, p.sums_of(panel, image, row), at.cols);
            const auto to = p.destination(at, panel, image, row);
            if (p.other.values == nullptr) return c.store(rows, to, [](float value, float, i64) { return value; });
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
    t.k = in_blocks() ? s.kw * packed.unit : by_columns() ? s.kw : packed.slice;
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
              c, [&](i64 pixel, i64 i) { return rows(pixel, lane + i); }, pixels, LaneValues{}, left);
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

/// Weight gradient with vectors along output channels: every input in reach of a kernel position multiplies the vector
/// of output gradients of its pixel. As many such sums as registers hold share a vector: those of the channels at one
/// kernel position, or of the columns of a kernel row where those are more. Sums go to `parts` arrays of
/// [group][slice][panel][kernel position][term][lane], each the sum over a part of the images, which UnpackWeights adds
/// up.
template <class T>
struct DirectWeightGradient {
  static constexpr const char* label = "direct_weight_gradient";
  static constexpr i64 together = OperandOf<T>::terms;  ///< images in an operand
  ConvolutionSizes s;
  PackedWeights packed;
  const T *x, *dy;
  float* dw;
  i64 parts;
  DirectTiles tile;  ///< images: operands
  Buf x_buf, dy_buf, acc_buf;

  CORTADO_FN bool in_blocks() const { return s.src == Layout::nchw16c; }
  CORTADO_FN Halo halo() const { return {s, tile, in_blocks()}; }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const DirectWeightGradient p = *this;
    const i64 panel_blocks = ceil_div(p.packed.panels(), p.tile.panels);
    const i64 row_blocks = ceil_div(p.s.oh, p.tile.rows), col_blocks = ceil_div(p.s.ow, p.tile.cols),
              bands = row_blocks * col_blocks, images = p.part_images(), step_images = p.tile.images * together,
              image_blocks = ceil_div(images, step_images);
    const auto place = [p, panel_blocks](i64 block) {
      Place at;
      at.panel = block % panel_blocks * p.tile.panels;
      at.slice = block / panel_blocks % p.packed.slices();
      at.group = block / panel_blocks / p.packed.slices() % p.s.g;
      at.part = block / panel_blocks / p.packed.slices() / p.s.g;
      at.panels = math::min(p.tile.panels, p.packed.panels() - at.panel);
      return at;
    };
    const auto band = [p, images, step_images, bands, col_blocks](const Place& at, i64 step) {
      return Band{at.part * images + step / bands * step_images, (at.part + 1) * images,
                  step % bands / col_blocks * p.tile.rows, step % col_blocks * p.tile.cols};
    };
    c.tiles(
        p.parts * p.s.g * p.packed.slices() * panel_blocks, image_blocks * bands, Depth::one,
        [&](i64) { return c.template sums<float>(p.acc_buf, p.shape()); },
        [&](i64 block, i64 step) {
          const Place at = place(block);
          const Band pixels = band(at, step);
          return both(Step{at.panels, pixels.row}, both(p.inputs(c, at, pixels), p.gradients(c, at, pixels)));
        },
        [&](i64 step, auto& in, auto& acc) {
          for (i64 panel = 0; panel < in.first.panels; ++panel)
            for (i64 t = 0; t < p.bundles(); ++t) {
              auto sums = c.rows(acc, p.sums_of(panel, t), p.bundle());
              set_or_add(c, step, sums, in.second, p.taps(panel, t, in.first.row));
            }
        },
        [&](i64 block, auto& acc) {
          const Place at = place(block);
          for (i64 panel = 0; panel < at.panels; ++panel)
            for (i64 t = 0; t < p.bundles(); ++t)
              c.store(c.rows(acc, p.sums_of(panel, t), p.bundle()), p.destination(at, panel, t),
                      [](float value, float, i64) { return value; });
        });
  }

 private:
  struct Place {
    i64 part, group, slice, panel, panels;
  };
  struct Band {
    i64 image, end_image, row, col;
  };
  struct Step {
    i64 panels, row;  ///< how many; the first of the band
  };
  CORTADO_FN i64 part_images() const { return round_up(ceil_div(s.images, parts), together); }
  CORTADO_FN i64 lanes() const { return tile.panels * packed.panel; }
  /// Sums that share vectors: of the channels (of a block) at one kernel position, or of the columns of one kernel row
  /// and channel.
  CORTADO_FN bool by_columns() const { return !in_blocks() && s.kw > packed.slice; }
  CORTADO_FN i64 bundle() const { return in_blocks() ? block_channels : by_columns() ? s.kw : packed.slice; }
  CORTADO_FN i64 bundles() const { return packed.taps * packed.slice / bundle(); }
  CORTADO_FN i64 sums_of(i64 panel, i64 t) const { return (panel * bundles() + t) * bundle(); }
  CORTADO_FN TileShape shape() const {
    TileShape t;
    t.m = sums_of(tile.panels, 0);
    t.set_columns(packed.panel, s.dst);
    t.k = tile.cols;
    return t;
  }
  /// Rows of pixels, of those from `first_row` on, that see padding alone at this kernel position add nothing.
  CORTADO_FN Taps taps(i64 panel, i64 t, i64 first_row) const {
    const Halo h = halo();
    const i64 pixel = channel_block(s.src), tap = t % packed.taps;  // channels of a block go round the kernel together
    const i64 ky = by_columns() ? t % s.kh : tap / s.kw, kx = by_columns() ? 0 : tap % s.kw,
              channel = by_columns() ? t / s.kh : t / packed.taps * pixel;
    const Range rows =
        outputs_inside(first_row * s.sh - s.ph + ky * s.dh, s.sh, s.ih, math::min(tile.rows, s.oh - first_row));
    Taps taps;
    taps.count1 = tile.images, taps.count0 = rows.count();
    taps.a1 = packed.slice * h.plane();
    taps.a0 = h.stride_y * h.cols * pixel;
    taps.a = channel * h.plane() + (ky * s.dh * h.cols + kx * s.dw) * pixel + rows.first * taps.a0;
    taps.b0 = tile.cols * (s.dst == Layout::nchw16c ? block_channels : lanes());
    taps.b1 = tile.rows * tile.cols * lanes();
    taps.b = panel * packed.panel * (s.dst == Layout::nchw16c ? tile.rows * tile.cols : 1) + rows.first * taps.b0;
    return taps;
  }

  template <class C>
  CORTADO_FN auto inputs(C& c, const Place& at, const Band& band) const {
    Box<T> box;
    box.base = x + at.group * s.group_ic() * s.ih * s.iw;
    const i64 pixel = channel_block(s.src), plane = s.ih * s.iw;  // sixteen channels of a pixel are its columns, or one
    const i64 extent[4] = {math::min(s.images, band.end_image), s.group_ic() / pixel, s.ih, s.iw * pixel},
              pitch[4] = {s.ic * plane, plane * pixel, s.iw * pixel, 1};
    const i64 origin[4] = {band.image, at.slice * packed.slice / pixel, band.row * s.sh - s.ph,
                           (band.col * s.sw - s.pw) * pixel};
    const Halo h = halo();
    const i64 size[4] = {tile.images, packed.slice / pixel, h.rows, h.cols * pixel};
    box.set(extent, pitch, origin, size);
    box.step[2] = h.step_y, box.step[3] = h.step_x;
    if (together > 1) box.paired = 0;
    return c.stage_a(x_buf, box, LeftView{in_blocks() ? 1 : by_columns() ? s.dw : h.plane(), h.stride_x * pixel});
  }

  /// Pixels outside the image have no gradient: zeros.
  template <class C>
  CORTADO_FN auto gradients(C& c, const Place& at, const Band& band) const {
    if (s.dst == Layout::nchw16c) return blocks_of_gradients(c, at, band);
    Box<T> box;
    box.base = dy + at.group * s.group_oc() * s.oh * s.ow;
    const i64 extent[4] = {math::min(s.images, band.end_image), s.oh, s.ow, s.group_oc()},
              pitch[4] = {s.oc * s.oh * s.ow, s.ow, 1, s.oh * s.ow};
    const i64 origin[4] = {band.image, band.row, band.col, at.panel * packed.panel};
    const i64 size[4] = {tile.images, tile.rows, tile.cols, lanes()};
    box.set(extent, pitch, origin, size);
    if (together > 1) box.paired = 0;
    RightView view;
    view.k_stride = lanes();
    return c.stage_b(dy_buf, box, view);
  }

  template <class C>
  CORTADO_FN auto blocks_of_gradients(C& c, const Place& at, const Band& band) const {
    Box<T> box;
    const i64 width = s.ow * block_channels, plane = s.oh * width;
    box.base = dy + at.group * s.group_oc() * s.oh * s.ow;
    const i64 extent[4] = {math::min(s.images, band.end_image), s.group_oc() / block_channels, s.oh, width},
              pitch[4] = {s.oc * s.oh * s.ow, plane, width, 1};
    const i64 origin[4] = {band.image, at.panel * packed.panel / block_channels, band.row, band.col * block_channels};
    const i64 size[4] = {tile.images, lanes() / block_channels, tile.rows, tile.cols * block_channels};
    box.set(extent, pitch, origin, size);
    if (together > 1) box.paired = 0;
    RightView view;
    view.k_stride = block_channels;
    view.n1_stride = tile.rows * tile.cols * block_channels;
    return c.stage_b(dy_buf, box, view);
  }

  CORTADO_FN OutBox<float> destination(const Place& at, i64 panel, i64 t) const {
    OutBox<float> box;
    const i64 first = by_columns() ? t * s.kw : t % packed.taps + t / packed.taps * channel_block(s.src) * packed.taps;
    const TileShape sums = shape();
    box.base =
        dw + at.part * packed.floats() + packed.place(at.group, at.slice, at.panel + panel) + first * packed.panel;
    box.rows = bundle();
    box.limit1 = sums.n1;
    box.pitch1 = sums.n0;
    box.limit0 = sums.n0;
    box.pitch_m = (by_columns() ? 1 : packed.taps) * packed.panel;
    box.reads_old = false;
    return box;
  }
};

/// dw (oc x ic/g x kh x kw) += the sum of `parts` arrays of PackedWeights. A line is one panel of one slice; each part
/// of it comes turned.
struct UnpackWeights {
  static constexpr const char* label = "unpack_weights";
  const float* from;
  float* dw;
  PackedWeights packed;
  i64 parts;
  bool sets;  ///< dw is their sum; else it is added to
  Buf from_buf;
  SetOrAdd to;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const UnpackWeights p = *this;
    const i64 taps = p.packed.taps;
    c.lines(
        p.packed.pieces(), Depth::one, [&](i64 line) { return line; },
        [&](i64 line, i64&) {
          const auto at = p.packed.place_of(line);
          const i64 rows = math::min(p.packed.panel, p.packed.outputs - at.output),
                    cols = math::min(p.packed.slice, p.packed.terms - at.term) * taps,
                    first = at.group * p.packed.outputs + at.output;
          c.pipeline(
              p.parts, Depth::two,
              [&](i64 part) {
                Box<float> box = Box<float>::matrix(p.from + part * p.packed.floats() + line * p.packed.piece(),
                                                    p.packed.panel, cols, 1, 0, 0, p.packed.panel, cols);
                box.pitch[3] = p.packed.panel;
                return c.stage(p.from_buf, box);
              },
              [&](i64 part, auto& in) {
                for (i64 r = 0; r < rows; ++r)
                  p.to.leave(c, p.sets && part == 0, p.dw + ((first + r) * p.packed.terms + at.term) * taps, cols,
                             [&](i64 i) { return in(r, i); });
              });
        });
  }
};

}  // namespace cortado
