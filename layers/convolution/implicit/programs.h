#pragma once
#include "core/machine/gather.h"
#include "core/machine/math.h"
#include "core/machine/program.h"
#include "layers/convolution/sizes.h"

namespace cortado {

/// Tile sizes of the implicit plans, for one CPE: output and input channels, rows and columns of pixels.
struct ImplicitTiles {
  i64 oc, ic, rows, cols;
  int sums = 1;  ///< slots: with two, a block starts while the one before is put
};

/// Implicit GEMM, forward (swCaffe IV-B2): no columns in memory; a tile of input pixels with its halo is staged (zero
/// outside the image: the padding is in the coordinates) and multiplied once per kernel position. A mesh computes
/// mesh_rows x tile.oc output channels of mesh_cols x tile.rows rows of pixels; input channels are what the mesh
/// shares.
struct ImplicitForward {
  static constexpr const char* label = "implicit_forward";
  ConvolutionSizes s;
  const float *x, *w;
  float* y;
  i64 y_plane, y_row, y_col;  ///< how far apart in y channels, rows and columns are
  ImplicitTiles tile;
  Buf x_buf, w_buf, acc_buf;
  Depth depth;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const ImplicitForward p = *this;
    const i64 oc_step = C::mesh_rows * p.tile.oc, row_step = C::mesh_cols * p.tile.rows,
              ic_step = C::mesh_cols * p.tile.ic;
    const i64 oc_blocks = (p.s.group_oc() + oc_step - 1) / oc_step, row_blocks = (p.s.oh + row_step - 1) / row_step;
    const i64 col_blocks = (p.s.ow + p.tile.cols - 1) / p.tile.cols;
    const auto place = [&](i64 block) {
      Place at;
      at.col = block % col_blocks * p.tile.cols;
      at.row = block / col_blocks % row_blocks * row_step + c.col() * p.tile.rows;
      at.oc = block / col_blocks / row_blocks % oc_blocks * oc_step + c.row() * p.tile.oc;
      at.group = block / col_blocks / row_blocks / oc_blocks % p.s.g;
      at.image = block / col_blocks / row_blocks / oc_blocks / p.s.g;
      return at;
    };
    c.tiles(
        p.s.images * p.s.g * oc_blocks * row_blocks * col_blocks, (p.s.group_ic() + ic_step - 1) / ic_step, p.depth,
        [&](i64) { return c.template acc<float>(p.acc_buf, p.shape()); },
        [&](i64 block, i64 q) {
          const Place at = place(block);
          return gather(p.weights(c, at, q * ic_step + c.col() * p.tile.ic),
                        p.pixels(c, at, q * ic_step + c.row() * p.tile.ic));
        },
        named([&](i64, auto& left, auto& right, auto& acc) {
          for (int t = 0; t < C::mesh_cols; ++t) c.fma(acc, c.row_share(left, t), c.col_share(right, t), p.taps());
        }),
        [&](i64 block, auto& acc) {
          c.store(acc, p.destination(place(block)), [](float value, float, i64, i64) { return value; });
        });
  }

 private:
  struct Place {
    i64 image, group, oc, row, col;
  };
  CORTADO_FN i64 halo_rows() const { return s.rows_under(tile.rows); }
  CORTADO_FN i64 halo_cols() const { return s.cols_under(tile.cols); }
  CORTADO_FN TileShape shape() const {
    TileShape t;
    t.m = tile.oc;
    t.n1 = tile.rows;
    t.n0 = tile.cols;
    t.k = tile.ic;
    return t;
  }
  CORTADO_FN Taps taps() const {
    Taps t;
    t.count1 = s.kh;
    t.count0 = s.kw;
    t.a1 = s.kw;
    t.a0 = 1;
    t.b1 = s.dh * halo_cols();
    t.b0 = s.dw;
    return t;
  }

  template <class C>
  CORTADO_FN auto weights(C& c, const Place& at, i64 ic0) const {
    const i64 taps = s.kh * s.kw, ic = s.group_ic();
    Box<float> box;
    box.base = w + at.group * s.group_oc() * ic * taps;
    const i64 extent[4] = {1, s.group_oc(), ic, taps}, pitch[4] = {0, ic * taps, taps, 1};
    const i64 origin[4] = {0, at.oc, ic0, 0}, size[4] = {1, tile.oc, tile.ic, taps};
    box.set(extent, pitch, origin, size);
    return c.stage_a(w_buf, box, LeftView{tile.ic * taps, taps});
  }

  template <class C>
  CORTADO_FN auto pixels(C& c, const Place& at, i64 ic0) const {
    Box<float> box;
    box.base = x + (at.image * s.ic + at.group * s.group_ic()) * s.ih * s.iw;
    const i64 extent[4] = {1, s.group_ic(), s.ih, s.iw}, pitch[4] = {0, s.ih * s.iw, s.iw, 1};
    const i64 origin[4] = {0, ic0, at.row * s.sh - s.ph, at.col * s.sw - s.pw};
    const i64 size[4] = {1, tile.ic, halo_rows(), halo_cols()};
    box.set(extent, pitch, origin, size);
    RightView view;
    view.k_stride = halo_rows() * halo_cols();
    view.n1_stride = s.sh * halo_cols();
    view.n0_stride = s.sw;
    return c.stage_b(x_buf, box, view);
  }

  CORTADO_FN OutBox<float> destination(const Place& at) const {
    OutBox<float> box;
    const i64 oc0 = at.group * s.group_oc() + at.oc;
    box.base = y + (at.image * s.oc + oc0) * y_plane + at.row * y_row + at.col * y_col;
    box.rows = s.group_oc() - at.oc;
    box.limit1 = s.oh - at.row;
    box.limit0 = s.ow - at.col;
    box.pitch_m = y_plane;
    box.pitch1 = y_row;
    box.pitch0 = y_col;
    box.reads_old = false;
    return box;
  }
};

/// Implicit GEMM, weight gradient: dw += for each kernel position the product of output gradients and shifted inputs,
/// summed over pixels. The terms of the product are the columns of a row of pixels, its taps are the rows. A mesh
/// computes mesh_rows x tile.oc by mesh_cols x tile.ic channels; blocks of rows of pixels are what the mesh shares.
struct ImplicitWeightGradient {
  static constexpr const char* label = "implicit_weight_gradient";
  ConvolutionSizes s;
  const float *x, *dy;
  float* dw;
  ImplicitTiles tile;
  Buf x_buf, dy_buf, acc_buf;
  Depth depth;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const ImplicitWeightGradient p = *this;
    const i64 oc_step = C::mesh_rows * p.tile.oc, ic_step = C::mesh_cols * p.tile.ic,
              row_step = C::mesh_cols * p.tile.rows;
    const i64 oc_blocks = (p.s.group_oc() + oc_step - 1) / oc_step,
              ic_blocks = (p.s.group_ic() + ic_step - 1) / ic_step;
    const i64 row_blocks = (p.s.oh + row_step - 1) / row_step, col_blocks = (p.s.ow + p.tile.cols - 1) / p.tile.cols;
    const auto place = [&](i64 block) {
      return Place{block / ic_blocks / oc_blocks, block / ic_blocks % oc_blocks * oc_step + c.row() * p.tile.oc,
                   block % ic_blocks * ic_step + c.col() * p.tile.ic};
    };
    c.tiles(
        p.s.g * oc_blocks * ic_blocks, p.s.images * row_blocks * col_blocks, p.depth,
        [&](i64) { return c.template acc<float>(p.acc_buf, p.shape()); },
        [&](i64 block, i64 q) {
          const Place at = place(block);
          const i64 image = q / col_blocks / row_blocks, row = q / col_blocks % row_blocks * row_step;
          const i64 col = q % col_blocks * p.tile.cols;
          return gather(p.gradients(c, at, image, row + c.col() * p.tile.rows, col),
                        p.pixels(c, at, image, row + c.row() * p.tile.rows, col));
        },
        named([&](i64, auto& left, auto& right, auto& acc) {
          for (int t = 0; t < C::mesh_cols; ++t) c.fma(acc, c.row_share(left, t), c.col_share(right, t), p.taps());
        }),
        [&](i64 block, auto& acc) {
          c.store(acc, p.destination(place(block)), [](float value, float old, i64, i64) { return old + value; });
        });
  }

 private:
  struct Place {
    i64 group, oc, ic;
  };
  CORTADO_FN i64 halo_rows() const { return s.rows_under(tile.rows); }
  CORTADO_FN i64 halo_cols() const { return s.cols_under(tile.cols); }
  CORTADO_FN TileShape shape() const {
    TileShape t;
    t.m = tile.oc;
    t.n2 = tile.ic;
    t.n1 = s.kh;
    t.n0 = s.kw;
    t.k = tile.cols;
    return t;
  }
  CORTADO_FN Taps taps() const {
    Taps t;
    t.count1 = tile.rows;
    t.a1 = tile.cols;
    t.b1 = s.sh * halo_cols();
    return t;
  }

  template <class C>
  CORTADO_FN auto gradients(C& c, const Place& at, i64 image, i64 row, i64 col) const {
    Box<float> box;
    box.base = dy + (image * s.oc + at.group * s.group_oc()) * s.oh * s.ow;
    const i64 extent[4] = {1, s.group_oc(), s.oh, s.ow}, pitch[4] = {0, s.oh * s.ow, s.ow, 1};
    const i64 origin[4] = {0, at.oc, row, col}, size[4] = {1, tile.oc, tile.rows, tile.cols};
    box.set(extent, pitch, origin, size);
    return c.stage_a(dy_buf, box, LeftView{tile.rows * tile.cols, 1});
  }

  template <class C>
  CORTADO_FN auto pixels(C& c, const Place& at, i64 image, i64 row, i64 col) const {
    Box<float> box;
    box.base = x + (image * s.ic + at.group * s.group_ic()) * s.ih * s.iw;
    const i64 extent[4] = {1, s.group_ic(), s.ih, s.iw}, pitch[4] = {0, s.ih * s.iw, s.iw, 1};
    const i64 origin[4] = {0, at.ic, row * s.sh - s.ph, col * s.sw - s.pw};
    const i64 size[4] = {1, tile.ic, halo_rows(), halo_cols()};
    box.set(extent, pitch, origin, size);
    RightView view;
    view.k_stride = s.sw;
    view.n2_stride = halo_rows() * halo_cols();
    view.n1_stride = s.dh * halo_cols();
    view.n0_stride = s.dw;
    return c.stage_b(x_buf, box, view);
  }

  CORTADO_FN OutBox<float> destination(const Place& at) const {
    const i64 ic = s.group_ic(), taps = s.kh * s.kw;
    OutBox<float> box;
    box.base = dw + ((at.group * s.group_oc() + at.oc) * ic + at.ic) * taps;
    box.rows = s.group_oc() - at.oc;
    box.limit2 = ic - at.ic;
    box.limit1 = s.kh;
    box.limit0 = s.kw;
    box.pitch_m = ic * taps;
    box.pitch2 = taps;
    box.pitch1 = s.kw;
    return box;
  }
};

/// Weights for the input gradient, which is a forward convolution with input and output channels exchanged and the
/// kernel turned by 180 degrees (at a stride, a part of the kernel): to(g, i, o, a, b) = w(g, o, i, y.last - a y.step,
/// x.last - b x.step). A line is one (g, i): the kernels of all its output channels.
struct TurnWeights {
  static constexpr const char* label = "turn_weights";
  const float* w;
  float* to;
  i64 g, group_oc, group_ic, kw, taps;
  KernelPart y, x;
  Buf from_buf, to_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const TurnWeights p = *this;
    const auto fetch = [&](i64 line) {
      const i64 group = line / p.group_ic, i = line % p.group_ic, pitch = p.group_ic * p.taps;
      return c.get2d(p.from_buf, p.w + group * p.group_oc * pitch + i * p.taps, p.group_oc, p.taps, pitch);
    };
    c.lines(p.g * p.group_ic, Depth::two, fetch, [&](i64 line, auto& kernels) {
      const i64 own = p.y.count * p.x.count;
      auto q = c.out2d(p.to_buf, p.to + line * p.group_oc * own, p.group_oc, own, own);
      c.each2d(p.group_oc, own, [&](i64 o, i64 t) {
        q.set(o, t, kernels(o, p.y.position(t / p.x.count) * p.kw + p.x.position(t % p.x.count)));
      });
      c.put(q);
    });
  }
};

}  // namespace cortado
