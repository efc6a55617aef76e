#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"
#include "layers/convolution/convolution_sizes.h"

namespace cortado {

/// Kernel positions along one axis that meet the same inputs: `count` of them, `step` apart, from `last` downwards.
/// A forward convolution has them all in their own order: last 0, step -1.
struct KernelPart {
  i64 last, step, count;
  CORTADO_FN i64 position(i64 i) const { return last - i * step; }
};

/// How direct plans keep weights: [group][slice of terms][panel of outputs][kernel position][term][lane], so that what
/// a step multiplies is one piece, whole vectors long, zero beyond the last channel. Terms are input channels, outputs
/// output channels; for the input gradient the other way round.
struct PackedWeights {
  i64 g, outputs, terms, taps;  ///< per group
  i64 panel, slice;             ///< outputs of a panel, terms of a slice

  CORTADO_FN i64 panels() const { return (outputs + panel - 1) / panel; }
  CORTADO_FN i64 slices() const { return (terms + slice - 1) / slice; }
  CORTADO_FN i64 piece() const { return taps * slice * panel; }
  CORTADO_FN i64 floats() const { return g * slices() * panels() * piece(); }
  /// Where the piece of a panel begins.
  CORTADO_FN i64 place(i64 group, i64 slice_index, i64 panel_index) const {
    return ((group * slices() + slice_index) * panels() + panel_index) * piece();
  }
};

/// Weights (oc x ic/g x kh x kw) to PackedWeights. A line is one panel of one slice.
struct PackWeights {
  static constexpr const char* label = "pack_weights";
  const float* w;
  float* to;
  PackedWeights packed;
  i64 output_pitch, term_pitch;  ///< in w; the smaller one is kh kw
  i64 group_pitch, kw;
  KernelPart y, x;
  Buf from_buf, to_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PackWeights p = *this;
    const i64 all = p.output_pitch < p.term_pitch ? p.output_pitch : p.term_pitch;  // kernel positions in w
    const bool by_output = p.term_pitch == all;                                     // rows fetched are outputs
    const auto place = [p](i64 line) {
      const i64 panels = p.packed.panels(), slices = p.packed.slices();
      return Place{line / panels / slices, line / panels % slices * p.packed.slice, line % panels * p.packed.panel};
    };
    c.lines(
        p.packed.g * p.packed.slices() * p.packed.panels(), Depth::two,
        [&](i64 line) {
          const Place at = place(line);
          const i64 outputs = math::min(p.packed.panel, p.packed.outputs - at.output),
                    terms = math::min(p.packed.slice, p.packed.terms - at.term);
          const float* const from =
              p.w + at.group * p.group_pitch + at.output * p.output_pitch + at.term * p.term_pitch;
          return by_output ? c.get2d(p.from_buf, from, outputs, terms * all, p.output_pitch)
                           : c.get2d(p.from_buf, from, terms, outputs * all, p.term_pitch);
        },
        [&](i64 line, auto& in) {
          const i64 rows = in.rows, cols = in.cols, slice = p.packed.slice, panel = p.packed.panel;
          auto q = c.out2d(p.to_buf, p.to + line * p.packed.piece(), p.packed.taps * slice, panel, panel);
          for (i64 t = 0; t < p.packed.taps; ++t) {
            const i64 tap = p.y.position(t / p.x.count) * p.kw + p.x.position(t % p.x.count);
            const Range own{t * slice, (t + 1) * slice};
            c.each2d(own, Range{0, panel}, [&](i64 r, i64 j) {
              const i64 row = by_output ? j : r - own.first, col = (by_output ? r - own.first : j) * all + tap;
              const auto value = in(math::min(row, rows - 1), math::min(col, cols - 1));
              q.set(r, j, math::select(row < rows && col < cols, value, 0.0f));
            });
          }
          c.put(q);
        });
  }

 private:
  struct Place {
    i64 group, term, output;
  };
};

/// Tile sizes of the direct plans.
struct DirectTiles {
  i64 images, rows, cols;  ///< pixels of a block: rows x cols of each of `images` images
  i64 panels;              ///< panels of output channels of a block
  i64 slice;               ///< input channels of a step (forward) or of a block (weight gradient)
};

/// Forward convolution with vectors along output channels: a block of pixels with its halo is staged as it lies in
/// memory, and each pixel's inputs, wherever the kernel position finds them, multiply whole vectors of packed weights.
/// So strides, dilations and narrow images cost nothing; sums are turned back to rows of pixels when they are stored.
struct DirectForward {
  static constexpr const char* label = "direct_forward";
  ConvolutionSizes s;
  PackedWeights packed;
  const float *x, *w;
  float* y;
  i64 y_plane, y_row, y_col;  ///< how far apart in y channels, rows and columns are
  DirectTiles tile;
  Buf x_buf, w_buf, acc_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const DirectForward p = *this;
    const i64 panel_blocks = p.ceil_div(p.packed.panels(), p.tile.panels), row_blocks = p.ceil_div(p.s.oh, p.tile.rows),
              col_blocks = p.ceil_div(p.s.ow, p.tile.cols), image_blocks = p.ceil_div(p.s.images, p.tile.images);
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
        [&](i64) { return c.template acc<float>(p.acc_buf, p.shape()); },
        [&](i64 block, i64 step) {
          const Place at = place(block);
          return both(at, both(p.pixels(c, at, step), p.weights(c, at, step)));
        },
        [&](i64, auto& in, auto& acc) {
          const Place& at = in.first;
          p.each_row(at, [&](i64 panel, i64 image, i64 row) {
            auto sums = c.rows(acc, p.sums_of(panel, image, row), at.cols);
            c.fma(sums, c.row_share(in.second.first, 0), c.col_share(in.second.second, 0), p.taps(panel, image, row));
          });
        },
        [&](i64 block, auto& acc) {
          const Place at = place(block);
          p.each_row(at, [&](i64 panel, i64 image, i64 row) {
            c.store(c.rows(acc, p.sums_of(panel, image, row), at.cols), p.destination(at, panel, image, row),
                    [](float value, float, i64) { return value; });
          });
        });
  }

 private:
  struct Place {
    i64 image, group, panel, row, col;  ///< the first of each
    i64 images, panels, rows, cols;     ///< how many
  };
  CORTADO_FN static i64 ceil_div(i64 n, i64 by) { return (n + by - 1) / by; }
  CORTADO_FN i64 halo_rows() const { return s.rows_under(tile.rows); }
  CORTADO_FN i64 halo_cols() const { return s.cols_under(tile.cols); }
  CORTADO_FN TileShape shape() const {
    TileShape t;
    t.m = tile.panels * tile.images * tile.rows * tile.cols;
    t.n0 = packed.panel;
    t.k = packed.slice;
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
  CORTADO_FN Taps taps(i64 panel, i64 image, i64 row) const {
    Taps t;
    t.count1 = s.kh;
    t.count0 = s.kw;
    t.a = (image * packed.slice * halo_rows() + row * s.sh) * halo_cols();
    t.a1 = s.dh * halo_cols();
    t.a0 = s.dw;
    t.b = panel * packed.piece();
    t.b0 = packed.slice * packed.panel;
    t.b1 = s.kw * t.b0;
    return t;
  }

  template <class C>
  CORTADO_FN auto pixels(C& c, const Place& at, i64 step) const {
    Box<float> box;
    box.base = x + at.group * s.group_ic() * s.ih * s.iw;
    const i64 extent[4] = {s.images, s.group_ic(), s.ih, s.iw}, pitch[4] = {s.ic * s.ih * s.iw, s.ih * s.iw, s.iw, 1};
    const i64 origin[4] = {at.image, step * packed.slice, at.row * s.sh - s.ph, at.col * s.sw - s.pw};
    const i64 size[4] = {tile.images, packed.slice, halo_rows(), halo_cols()};
    box.set(extent, pitch, origin, size);
    return c.stage_a(x_buf, box, LeftView{s.sw, halo_rows() * halo_cols()});
  }

  template <class C>
  CORTADO_FN auto weights(C& c, const Place& at, i64 step) const {
    const i64 count = at.panels * packed.piece();
    RightView view;
    view.k_stride = packed.panel;
    return c.stage_b(w_buf, Box<float>::matrix(w + packed.place(at.group, step, at.panel), 1, count, 0, 0, 0, 1, count),
                     view);
  }

  CORTADO_FN OutBox<float> destination(const Place& at, i64 panel, i64 image, i64 row) const {
    OutBox<float> box;
    const i64 oc = (at.panel + panel) * packed.panel;
    box.base = y + ((at.image + image) * s.oc + at.group * s.group_oc() + oc) * y_plane + (at.row + row) * y_row +
               at.col * y_col;
    box.rows = at.cols;
    box.limit0 = s.group_oc() - oc;
    box.pitch_m = y_col;
    box.pitch0 = y_plane;
    box.reads_old = false;
    return box;
  }
};

/// Weight gradient with vectors along output channels: every input in reach of a kernel position multiplies the vector
/// of output gradients of its pixel. Sums go to `parts` arrays of [group][slice][panel][kernel position][term][lane],
/// each the sum over a part of the images, which UnpackWeights adds up.
struct DirectWeightGradient {
  static constexpr const char* label = "direct_weight_gradient";
  ConvolutionSizes s;
  PackedWeights packed;
  const float *x, *dy;
  float* dw;
  i64 parts;
  DirectTiles tile;
  Buf x_buf, dy_buf, acc_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const DirectWeightGradient p = *this;
    const i64 panel_blocks = (p.packed.panels() + p.tile.panels - 1) / p.tile.panels;
    const i64 row_blocks = (p.s.oh + p.tile.rows - 1) / p.tile.rows,
              col_blocks = (p.s.ow + p.tile.cols - 1) / p.tile.cols, bands = row_blocks * col_blocks,
              images = (p.s.images + p.parts - 1) / p.parts;
    const auto place = [p, panel_blocks](i64 block) {
      Place at;
      at.panel = block % panel_blocks * p.tile.panels;
      at.slice = block / panel_blocks % p.packed.slices();
      at.group = block / panel_blocks / p.packed.slices() % p.s.g;
      at.part = block / panel_blocks / p.packed.slices() / p.s.g;
      at.panels = math::min(p.tile.panels, p.packed.panels() - at.panel);
      return at;
    };
    const auto band = [p, images, bands, col_blocks](const Place& at, i64 step) {
      return Band{at.part * images + step / bands, step % bands / col_blocks * p.tile.rows,
                  step % col_blocks * p.tile.cols};
    };
    c.tiles(
        p.parts * p.s.g * p.packed.slices() * panel_blocks, images * bands, Depth::one,
        [&](i64) { return c.template acc<float>(p.acc_buf, p.shape()); },
        [&](i64 block, i64 step) {
          const Place at = place(block);
          const Band pixels = band(at, step);
          return both(at.panels, both(p.inputs(c, at, pixels), p.gradients(c, at, pixels)));
        },
        [&](i64, auto& in, auto& acc) {
          for (i64 panel = 0; panel < in.first; ++panel)
            for (i64 t = 0; t < p.packed.taps; ++t) {
              auto sums = c.rows(acc, p.sums_of(panel, t), p.packed.slice);
              c.fma(sums, c.row_share(in.second.first, 0), c.col_share(in.second.second, 0), p.taps(panel, t));
            }
        },
        [&](i64 block, auto& acc) {
          const Place at = place(block);
          for (i64 panel = 0; panel < at.panels; ++panel)
            c.store(c.rows(acc, p.sums_of(panel, 0), p.packed.taps * p.packed.slice), p.destination(at, panel),
                    [](float value, float, i64) { return value; });
        });
  }

 private:
  struct Place {
    i64 part, group, slice, panel, panels;
  };
  struct Band {
    i64 image, row, col;
  };
  CORTADO_FN i64 halo_rows() const { return s.rows_under(tile.rows); }
  CORTADO_FN i64 halo_cols() const { return s.cols_under(tile.cols); }
  CORTADO_FN i64 lanes() const { return tile.panels * packed.panel; }
  CORTADO_FN i64 sums_of(i64 panel, i64 t) const { return (panel * packed.taps + t) * packed.slice; }
  CORTADO_FN TileShape shape() const {
    TileShape t;
    t.m = sums_of(tile.panels, 0);
    t.n0 = packed.panel;
    t.k = tile.cols;
    return t;
  }
  CORTADO_FN Taps taps(i64 panel, i64 t) const {
    Taps taps;
    taps.count1 = tile.rows;
    taps.a = t / s.kw * s.dh * halo_cols() + t % s.kw * s.dw;
    taps.a1 = s.sh * halo_cols();
    taps.b = panel * packed.panel;
    taps.b1 = tile.cols * lanes();
    return taps;
  }

  template <class C>
  CORTADO_FN auto inputs(C& c, const Place& at, const Band& band) const {
    Box<float> box;
    box.base = x + at.group * s.group_ic() * s.ih * s.iw;
    const i64 extent[4] = {s.images, s.group_ic(), s.ih, s.iw}, pitch[4] = {s.ic * s.ih * s.iw, s.ih * s.iw, s.iw, 1};
    const i64 origin[4] = {band.image, at.slice * packed.slice, band.row * s.sh - s.ph, band.col * s.sw - s.pw};
    const i64 size[4] = {1, packed.slice, halo_rows(), halo_cols()};
    box.set(extent, pitch, origin, size);
    return c.stage_a(x_buf, box, LeftView{halo_rows() * halo_cols(), s.sw});
  }

  /// Pixels outside the image have no gradient: zeros.
  template <class C>
  CORTADO_FN auto gradients(C& c, const Place& at, const Band& band) const {
    Box<float> box;
    box.base = dy + at.group * s.group_oc() * s.oh * s.ow;
    const i64 extent[4] = {s.images, s.oh, s.ow, s.group_oc()}, pitch[4] = {s.oc * s.oh * s.ow, s.ow, 1, s.oh * s.ow};
    const i64 origin[4] = {band.image, band.row, band.col, at.panel * packed.panel};
    const i64 size[4] = {1, tile.rows, tile.cols, lanes()};
    box.set(extent, pitch, origin, size);
    RightView view;
    view.k_stride = lanes();
    return c.stage_b(dy_buf, box, view);
  }

  CORTADO_FN OutBox<float> destination(const Place& at, i64 panel) const {
    OutBox<float> box;
    box.base = dw + at.part * packed.floats() + packed.place(at.group, at.slice, at.panel + panel);
    box.rows = packed.taps * packed.slice;
    box.limit0 = packed.panel;
    box.pitch_m = packed.panel;
    box.reads_old = false;
    return box;
  }
};

/// dw (oc x ic/g x kh x kw) += the sum of `parts` arrays of PackedWeights. A line is a slice of the weights of one
/// output channel.
struct UnpackWeights {
  static constexpr const char* label = "unpack_weights";
  const float* from;
  float* dw;
  PackedWeights packed;
  i64 parts;
  Buf from_buf, to_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const UnpackWeights p = *this;
    const i64 slices = p.packed.slices(), taps = p.packed.taps;
    c.lines(
        p.packed.g * p.packed.outputs * slices, Depth::one, [&](i64 line) { return line; },
        [&](i64 line, i64&) {
          const i64 slice = line % slices, output = line / slices % p.packed.outputs,
                    group = line / slices / p.packed.outputs, first = slice * p.packed.slice;
          const i64 terms = math::min(p.packed.slice, p.packed.terms - first);
          auto q = c.update(p.to_buf, p.dw + ((group * p.packed.outputs + output) * p.packed.terms + first) * taps,
                            terms * taps);
          const float* const at =
              p.from + p.packed.place(group, slice, output / p.packed.panel) + output % p.packed.panel;
          c.pipeline(
              p.parts, Depth::two,
              [&](i64 part) {
                return c.get2d(p.from_buf, at + part * p.packed.floats(), taps * p.packed.slice, 1, p.packed.panel);
              },
              [&](i64, auto& in) {
                c.each(q.n, [&](i64 i) { q.set(i, q.at(i) + in(i % taps * p.packed.slice + i / taps, 0)); });
              });
          c.put(q);
        });
  }
};

}  // namespace cortado
