#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"
#include "core/machine/windows.h"
#include "layers/convolution/direct_programs.h"
#include "layers/convolution/phase_programs.h"
#include "layers/convolution/published_program.h"
#include "layers/convolution/sizes.h"
#include "layers/convolution/strassen_programs.h"
#include "layers/convolution/winograd_programs.h"

namespace cortado {

/// im2col (swCaffe IV-B1): x (images x ic x ih x iw) to columns (images x (ic kh kw) x (oh ow)). A line is one channel
/// of one image and `line_rows` rows of its output: the input rows under it come in once, and each kernel position puts
/// them out shifted.
struct Im2col {
  static constexpr const char* label = "im2col";
  ConvolutionSizes s;
  const float* x;
  float* columns;
  i64 line_rows;
  Buf x_buf, column_buf;
  Depth depth;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const Im2col p = *this;
    const i64 bands = (p.s.oh + p.line_rows - 1) / p.line_rows;
    c.lines(
        p.s.images * p.s.ic * bands, p.depth,
        [&](i64 line) {
          const i64 y0 = p.first_row(line % bands);
          return c.get2d(p.x_buf, p.x + (line / bands * p.s.ih + y0) * p.s.iw, p.end_row(line % bands) - y0, p.s.iw,
                         p.s.iw);
        },
        [&](i64 line, auto& rows) {
          for (i64 k = 0; k < p.s.kh * p.s.kw; ++k)
            p.shift(c, line / bands, line % bands, k / p.s.kw, k % p.s.kw, rows);
        });
  }

 private:
  /// Input rows [first_row, end_row) are those under a band of outputs that exist; at least one, so that there is
  /// something to fetch.
  CORTADO_FN i64 first_row(i64 band) const {
    return math::max(i64{0}, math::min(s.ih - 1, band * line_rows * s.sh - s.ph));
  }
  CORTADO_FN i64 end_row(i64 band) const {
    const i64 count = math::min(line_rows, s.oh - band * line_rows);
    return math::max(first_row(band) + 1, math::min(s.ih, band * line_rows * s.sh - s.ph + s.rows_under(count)));
  }

  /// One kernel position of one plane: zero where it looks into the padding, else the input.
  template <class C, class Rows>
  CORTADO_FN void shift(C& c, i64 plane, i64 band, i64 ky, i64 kx, const Rows& rows) const {
    const i64 count = math::min(line_rows, s.oh - band * line_rows), ow = s.ow;
    float* const to = columns + ((plane * s.kh + ky) * s.kw + kx) * s.oh * ow + band * line_rows * ow;
    auto q = c.out2d(column_buf, to, count, ow, ow);
    const i64 y = band * line_rows * s.sh - s.ph + ky * s.dh, x0 = kx * s.dw - s.pw, sh = s.sh, sw = s.sw;
    const Range in_y = outputs_inside(y, sh, s.ih, count), in_x = outputs_inside(x0, sw, s.iw, ow);
    const i64 row0 = y - first_row(band);
    const auto zero = [&](i64 r, i64 i) { q.set(r, i, 0.0f); };
    c.each2d(Range{0, in_y.first}, Range{0, ow}, zero);
    c.each2d(in_y, Range{0, in_x.first}, zero);
    if (sw == 1)
      c.each2d(in_y, in_x, [&](i64 r, i64 i) { q.set(r, i, rows(row0 + r * sh, x0 + i)); });
    else
      c.each2d(in_y, in_x, [&](i64 r, i64 i) { q.set(r, i, rows(row0 + r * sh, x0 + i * sw)); });
    c.each2d(in_y, Range{math::max(in_x.first, in_x.end), ow}, zero);
    c.each2d(Range{math::max(in_y.first, in_y.end), count}, Range{0, ow}, zero);
    c.put(q);
  }
};

/// col2im: the gradient's way back, x (images x ic x ih x iw) = sum of the columns' entries that im2col made from it.
/// Nothing is scattered: a line owns `line_rows` rows of one channel of one image and gathers, kernel position by
/// kernel position, the part of that position's column that falls on them.
struct Col2im {
  static constexpr const char* label = "col2im";
  ConvolutionSizes s;
  const float* columns;
  float* x;
  i64 line_rows;
  Buf column_buf, x_buf;
  Depth depth;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const Col2im p = *this;
    const i64 bands = (p.s.ih + p.line_rows - 1) / p.line_rows;
    c.lines(
        p.s.images * p.s.ic * bands, Depth::one, [&](i64 line) { return line; },
        [&](i64 line, i64&) {
          const i64 plane = line / bands, first = line % bands * p.line_rows;
          const i64 count = math::min(p.line_rows, p.s.ih - first);
          auto q = c.out2d(p.x_buf, p.x + (plane * p.s.ih + first) * p.s.iw, count, p.s.iw, p.s.iw);
          c.each2d(count, p.s.iw, [&](i64 r, i64 i) { q.set(r, i, 0.0f); });
          c.pipeline(
              p.s.kh * p.s.kw, p.depth,
              [&](i64 k) {
                const Range rows = p.column_rows(first, count, k / p.s.kw);
                const float* const from = p.columns + ((plane * p.s.kh * p.s.kw + k) * p.s.oh + rows.first) * p.s.ow;
                return c.get2d(p.column_buf, from, rows.count(), p.s.ow, p.s.ow);
              },
              [&](i64 k, auto& column) { p.gather(c, first, count, k / p.s.kw, k % p.s.kw, column, q); });
          c.put(q);
        });
  }

 private:
  /// Output rows whose kernel row ky falls on input rows [first, first + count); at least one, to have something to
  /// fetch, and one too many at most on either side.
  CORTADO_FN Range column_rows(i64 first, i64 count, i64 ky) const {
    const i64 low = first + s.ph - ky * s.dh, high = low + count - 1;
    const i64 begin = math::min(s.oh - 1, math::max(i64{0}, low) / s.sh);
    return {begin, math::max(begin + 1, math::min(s.oh, math::max(i64{0}, high) / s.sh + 1))};
  }

  template <class C, class Column, class Out>
  CORTADO_FN void gather(C& c, i64 first, i64 count, i64 ky, i64 kx, const Column& column, Out& q) const {
    const i64 oy0 = column_rows(first, count, ky).first;
    const i64 y = first + s.ph - ky * s.dh, x = s.pw - kx * s.dw;  // input row r sees output row (y + r) / sh
    if (s.sh == 1 && s.sw == 1) {
      const Range rows = outputs_inside(y, 1, s.oh, count), cols = outputs_inside(x, 1, s.ow, s.iw);
      c.each2d(rows, cols, [&](i64 r, i64 i) { q.set(r, i, q.at(r, i) + column(y + r - oy0, x + i)); });
      return;
    }
    const i64 sh = s.sh, sw = s.sw, oh = s.oh, ow = s.ow, last = column.rows - 1;
    c.each2d(count, s.iw, [&](i64 r, i64 i) {
      const i64 ty = y + r, tx = x + i;
      const bool hit = ty >= 0 && tx >= 0 && ty % sh == 0 && tx % sw == 0 && ty / sh < oh && tx / sw < ow;
      const i64 row = math::max(i64{0}, math::min(ty / sh - oy0, last)),
                col = math::max(i64{0}, math::min(tx / sw, ow - 1));
      q.set(r, i, q.at(r, i) + math::select(hit, column(row, col), 0.0f));
    });
  }
};

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
          return both(p.weights(c, at, q * ic_step + c.col() * p.tile.ic),
                      p.pixels(c, at, q * ic_step + c.row() * p.tile.ic));
        },
        [&](i64, auto& in, auto& acc) {
          for (int t = 0; t < C::mesh_cols; ++t)
            c.fma(acc, c.row_share(in.first, t), c.col_share(in.second, t), p.taps());
        },
        [&](i64 block, auto& acc) {
          c.store(acc, p.destination(place(block)), [](float value, float, i64) { return value; });
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
          return both(p.gradients(c, at, image, row + c.col() * p.tile.rows, col),
                      p.pixels(c, at, image, row + c.row() * p.tile.rows, col));
        },
        [&](i64, auto& in, auto& acc) {
          for (int t = 0; t < C::mesh_cols; ++t)
            c.fma(acc, c.row_share(in.first, t), c.col_share(in.second, t), p.taps());
        },
        [&](i64 block, auto& acc) {
          c.store(acc, p.destination(place(block)), [](float value, float old, i64) { return old + value; });
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
    c.lines(
        p.g * p.group_ic, Depth::two,
        [&](i64 line) {
          const i64 group = line / p.group_ic, i = line % p.group_ic, pitch = p.group_ic * p.taps;
          return c.get2d(p.from_buf, p.w + group * p.group_oc * pitch + i * p.taps, p.group_oc, p.taps, pitch);
        },
        [&](i64 line, auto& kernels) {
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
