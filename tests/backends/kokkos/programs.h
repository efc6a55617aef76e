#pragma once
#include "core/machine/program.h"

namespace cortado::test {

/// y = 2 x + x[0], in lines of `block`.
struct Affine {
  static constexpr const char* label = "test_affine";
  const float* x;
  float* y;
  i64 n, block;
  Buf first, in, out;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const i64 count = n, length = block;
    const auto head = c.keep(first, x, 1);
    c.lines((count + length - 1) / length, Depth::two,
            [&](i64 i) { return c.get(in, x + i * length, count - i * length < length ? count - i * length : length); },
            [&](i64 i, auto& line) {
              auto q = c.out(out, y + i * length, line.n);
              c.each(line.n, [&](i64 j) { q.set(j, 2.0f * line[j] + head[0]); });
              c.put(q);
            });
  }
};

/// sums[i] = sum of line i of x; squares the line in place.
struct SumAndSquare {
  static constexpr const char* label = "test_sum_and_square";
  float* x;
  float* sums;
  i64 lines, length;
  Buf in, out;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    c.lines(
        lines, Depth::one, [&](i64 i) { return c.update(in, x + i * length, length); },
        [&](i64 i, auto& line) {
          auto q = c.out(out, sums + i, 1);
          const auto sum = c.fold(
              line.n, 0.0f, [](auto a, auto b) { return a + b; }, [&](i64 j) { return line.at(j); });
          c.once([&] { q.set(0, sum); });
          c.each(line.n, [&](i64 j) { line.set(j, line.at(j) * line.at(j)); });
          c.put(q);
          c.put(line);
        });
  }
};

/// Fails on lines from `from` on, with code 7.
struct FailFrom {
  static constexpr const char* label = "test_fail_from";
  i64 lines, from;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    c.lines(
        lines, Depth::one, [](i64 i) { return i; },
        [&](i64 i, i64&) {
          if (i >= from) c.fail(7, i);
        });
  }
};

/// y (rows x cols, pitch ldy) = A B + beta y, in tiles of m x n x k. A is stored rows x depth (pitch lda), B depth x
/// cols (pitch ldb) or, with b_transposed, cols x depth; the tile of a transposed B is read along its rows. For a mesh
/// of 1 x 1.
template <class T>
struct TileProduct {
  static constexpr const char* label = "test_tile_product";
  const T *a, *b;
  T* y;
  i64 rows, cols, depth, lda, ldb, ldy;
  i64 m, n, k;
  bool b_transposed;
  T beta;
  Buf left, right, sum;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const i64 col_tiles = (cols + n - 1) / n, row_tiles = (rows + m - 1) / m, steps = (depth + k - 1) / k;
    const T scale = beta;
    c.tiles(row_tiles * col_tiles, [&](i64 tile) {
      const i64 row0 = tile / col_tiles * m, col0 = tile % col_tiles * n;
      TileShape shape;
      shape.m = m;
      shape.n0 = n;
      shape.k = k;
      auto acc = c.template sums<T>(sum, shape);
      for (i64 step = 0; step < steps; ++step) {
        const i64 k0 = step * k;
        auto pa = c.stage_a(left, Box<T>::matrix(a, rows, depth, lda, row0, k0, m, k), LeftView{k, 1});
        auto pb = b_transposed
                      ? c.stage_b(right, Box<T>::matrix(b, cols, depth, ldb, col0, k0, n, k), RightView{1, 0, 0, k})
                      : c.stage_b(right, Box<T>::matrix(b, depth, cols, ldb, k0, col0, k, n), RightView{n, 0, 0, 1});
        const auto set = [&](auto& sums) { c.product(sums, c.row_share(pa, 0), c.col_share(pb, 0), Taps{}); };
        const auto add = [&] { c.fma(acc, c.row_share(pa, 0), c.col_share(pb, 0), Taps{}); };
        if (step > 0) {
          add();
          continue;
        }
        // A product forgets what was there: what the scratchpad had, or another product. One of no terms leaves zeros.
        set(acc);
        auto none = c.rows(acc, 0, m, 0);
        if (b_transposed)
          set(none), add();
        else
          set(acc);
      }
      OutBox<T> to;
      to.base = y + row0 * ldy + col0;
      to.rows = rows - row0;
      to.limit0 = cols - col0;
      to.pitch_m = ldy;
      c.store(acc, to, [=](auto value, auto old, i64, i64) { return value + scale * old; });
    });
  }
};

/// The product of a column x and a row w in each way that may stream: turned, from sums to y and from a block to z
/// (each cols x rows), and as it is, from a block to `plain` (rows x cols); rows of memory are `pitch` apart.
struct StreamedProduct {
  static constexpr const char* label = "test_streamed_product";
  const float *x, *w;
  float *y, *z, *plain;
  i64 rows, cols, pitch;
  Buf left, right, sum, block, plain_block;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const StreamedProduct p = *this;
    c.tiles(1, [&](i64) {
      TileShape shape;
      shape.m = p.rows;
      shape.n0 = p.cols;
      auto acc = c.template acc<float>(p.sum, shape);
      auto a = c.stage_a(p.left, Box<float>::matrix(p.x, p.rows, 1, 1, 0, 0, p.rows, 1), LeftView{1, 1});
      auto b = c.stage_b(p.right, Box<float>::matrix(p.w, 1, p.cols, p.cols, 0, 0, 1, p.cols), RightView{p.cols});
      for (int t = 0; t < C::mesh_cols; ++t) c.fma(acc, c.row_share(a, t), c.col_share(b, t), Taps{});
      OutBox<float> to;
      to.base = p.y;
      to.rows = p.rows;
      to.limit0 = p.cols;
      to.pitch_m = 1;
      to.pitch0 = p.pitch;
      to.reads_old = false;
      c.store(acc, to, [](auto value, auto, i64, i64) { return value + 1.0f; });
      auto turned = c.out_turned(p.block, p.z, p.rows, p.cols, p.pitch, p.cols);
      const float *const x = p.x, *const w = p.w;
      c.each2d(p.rows, p.cols, [&](i64 r, i64 q) { turned.set(r, q, x[r] * w[q] + 1.0f); });
      c.put(turned);
      auto straight = c.out_streamed(p.plain_block, p.plain, p.rows, p.cols, p.pitch);
      c.each2d(p.rows, p.cols, [&](i64 r, i64 q) { straight.set(r, q, x[r] * w[q] + 1.0f); });
      c.put(straight);
    });
  }
};

/// A convolution of one image: y (filters x out_h x out_w) = x (channels x h x w) * w (filters x channels x kh x kw),
/// in tiles of all filters by tile_h x out_w pixels, kernel positions as taps. `bias` is added per filter.
struct TileConvolution {
  static constexpr const char* label = "test_tile_convolution";
  const float *x, *w, *bias;
  float* y;
  i64 channels, filters, h, width, kh, kw, stride, pad, out_h, out_w, tile_h;
  Buf left, right, sum, offsets;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const i64 in_h = (tile_h - 1) * stride + kh, in_w = (out_w - 1) * stride + kw, taps = kh * kw;
    const auto add = c.keep(offsets, bias, filters);
    c.tiles((out_h + tile_h - 1) / tile_h, [&](i64 tile) {
      TileShape shape;
      shape.m = filters;
      shape.n1 = tile_h;
      shape.n0 = out_w;
      shape.k = channels;
      auto acc = c.template acc<float>(sum, shape);
      auto weights = c.stage_a(
          left, Box<float>::matrix(w, filters, channels * taps, channels * taps, 0, 0, filters, channels * taps),
          LeftView{channels * taps, taps});
      Box<float> box;
      box.base = x;
      box.extent[1] = box.size[1] = channels;
      box.extent[2] = h;
      box.extent[3] = width;
      box.pitch[1] = h * width;
      box.pitch[2] = width;
      box.pitch[3] = 1;
      box.origin[2] = tile * tile_h * stride - pad;
      box.origin[3] = -pad;
      box.size[2] = in_h;
      box.size[3] = in_w;
      auto pixels = c.stage_b(right, box, RightView{in_h * in_w, 0, stride * in_w, stride});
      Taps t;
      t.count1 = kh;
      t.count0 = kw;
      t.a1 = kw;
      t.a0 = 1;
      t.b1 = in_w;
      t.b0 = 1;
      for (int step = 0; step < C::mesh_cols; ++step)
        c.fma(acc, c.row_share(weights, step), c.col_share(pixels, step), t);
      OutBox<float> to;
      to.base = y + tile * tile_h * out_w;
      to.rows = filters;
      to.limit1 = out_h - tile * tile_h;
      to.limit0 = out_w;
      to.pitch_m = out_h * out_w;
      to.pitch1 = out_w;
      c.store(acc, to, [&](auto value, auto, i64 m, i64) { return value + add[m]; });
    });
  }
};

}  // namespace cortado::test
