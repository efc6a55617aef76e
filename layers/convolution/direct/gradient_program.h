#pragma once
#include "core/base/layout.h"
#include "core/machine/gather.h"
#include "core/machine/integers.h"
#include "core/machine/math.h"
#include "core/machine/windows.h"
#include "layers/convolution/direct/packed_weights.h"
#include "layers/convolution/direct/tiles.h"
#include "layers/convolution/set_or_add.h"

namespace cortado {

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
          return gather(Step{at.panels, pixels.row}, both(p.inputs(c, at, pixels), p.gradients(c, at, pixels)));
        },
        named([&](i64 step, const Step& at, auto& operands, auto& acc) {
          p.each_bundle(at.panels, [&](const Bundle& b) {
            auto sums = c.rows(acc, b.sums, p.bundle());
            set_or_add(c, step, sums, operands, p.taps(b, at.row));
          });
        }),
        [&](i64 block, auto& acc) {
          const Place at = place(block);
          p.each_bundle(at.panels, [&](const Bundle& b) {
            c.store(c.rows(acc, b.sums, p.bundle()), p.destination(at, b),
                    [](float value, float, i64, i64) { return value; });
          });
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
  /// Sums that share vectors: of the channels (of a block) at one kernel position, or of the columns of one kernel row
  /// and channel.
  struct Bundle {
    i64 panel;
    i64 channel, ky, kx;  ///< the first of each
    i64 sums;             ///< the first of a block's
  };
  CORTADO_FN i64 part_images() const { return round_up(ceil_div(s.images, parts), together); }
  CORTADO_FN i64 lanes() const { return tile.panels * packed.panel; }
  CORTADO_FN bool by_columns() const { return !in_blocks() && s.kw > packed.slice; }
  CORTADO_FN i64 bundle() const { return in_blocks() ? block_channels : by_columns() ? s.kw : packed.slice; }
  /// Calls f(Bundle) for all of `panels` panels, in the order of their sums. It divides nothing: a call is short.
  template <class F>
  CORTADO_FN void each_bundle(i64 panels, const F& f) const {
    const i64 step = in_blocks() ? block_channels : by_columns() ? 1 : packed.slice, columns = by_columns() ? 1 : s.kw;
    Bundle b{};
    for (b.panel = 0; b.panel < panels; ++b.panel)
      for (b.channel = 0; b.channel < packed.slice; b.channel += step)
        for (b.ky = 0; b.ky < s.kh; ++b.ky)
          for (b.kx = 0; b.kx < columns; ++b.kx) {
            f(b);
            b.sums += bundle();
          }
  }
  CORTADO_FN TileShape shape() const {
    TileShape t;
    t.m = tile.panels * packed.taps * packed.slice;
    t.set_columns(packed.panel, s.dst);
    t.k = tile.cols;
    return t;
  }
  /// Rows of pixels, of those from `first_row` on, that see padding alone at this kernel position add nothing.
  CORTADO_FN Taps taps(const Bundle& b, i64 first_row) const {
    const Halo h = halo();
    const i64 pixel = channel_block(s.src);
    const Range rows =
        outputs_inside(first_row * s.sh - s.ph + b.ky * s.dh, s.sh, s.ih, math::min(tile.rows, s.oh - first_row));
    Taps taps;
    taps.count1 = tile.images, taps.count0 = rows.count();
    taps.a1 = packed.slice * h.plane();
    taps.a0 = h.stride_y * h.cols * pixel;
    taps.a = b.channel * h.plane() + (b.ky * s.dh * h.cols + b.kx * s.dw) * pixel + rows.first * taps.a0;
    taps.b0 = tile.cols * (s.dst == Layout::nchw16c ? block_channels : lanes());
    taps.b1 = tile.rows * tile.cols * lanes();
    taps.b = b.panel * packed.panel * (s.dst == Layout::nchw16c ? tile.rows * tile.cols : 1) + rows.first * taps.b0;
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

  CORTADO_FN OutBox<float> destination(const Place& at, const Bundle& b) const {
    OutBox<float> box;
    const i64 first = b.channel * packed.taps + b.ky * s.kw + b.kx;
    const TileShape sums = shape();
    box.base =
        dw + at.part * packed.floats() + packed.place(at.group, at.slice, at.panel + b.panel) + first * packed.panel;
    box.rows = bundle();
    box.limit1 = sums.n1;
    box.pitch1 = sums.n0;
    box.limit0 = sums.n0;
    box.pitch_m = (by_columns() ? 1 : packed.taps) * packed.panel;
    box.reads_old = false;
    return box;
  }
};

}  // namespace cortado
