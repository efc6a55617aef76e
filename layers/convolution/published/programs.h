#pragma once
#include "core/machine/program.h"

namespace cortado {

/// Sizes of PublishedImplicit's arrays.
struct PublishedSizes {
  i64 ih, iw, kh, kw, oh, ow, ph, pw;
  i64 m, n, k;
  bool turned;  ///< kernel positions count from the end: the input gradient
};

/// swCaffe's implicit convolution (section IV-B2) as its public tree runs it, at stride 1: the product of `m` outputs
/// of a pixel with `n` (the batch) over `k` inputs, summed over kernel positions. x is ih x iw x k x n, w is kh x kw x
/// m x k, y is oh x ow x m x n; y(o) sums w(a) x(o - pad + a). n is split over the mesh's columns, so that transfers of
/// x are short; the sums of a block of output columns stay in the scratchpad; input pixels come in for every kernel
/// row, weights for every input and kernel column; every transfer is waited for, and what is shared is converted to
/// double on its way.
struct PublishedImplicit : PublishedSizes {
  static constexpr const char* label = "published_implicit";
  const float *x, *w;
  float* y;
  i64 columns;  ///< of output in a block
  i64 tile_m, tile_n, tile_k;
  Buf x_buf, w_buf, acc_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PublishedImplicit p = *this;
    const i64 blocks = (p.ow + p.columns - 1) / p.columns;
    const i64 blocks_m = (p.m + C::mesh_rows * p.tile_m - 1) / (C::mesh_rows * p.tile_m);
    const i64 blocks_n = (p.n + C::mesh_cols * p.tile_n - 1) / (C::mesh_cols * p.tile_n);
    c.tiles(blocks_m * blocks_n * blocks * p.oh, [&](i64 tile) {
      Place at;
      at.row = tile % p.oh;
      at.col = tile / p.oh % blocks * p.columns;
      at.cols = p.ow - at.col < p.columns ? p.ow - at.col : p.columns;
      at.n = tile / p.oh / blocks % blocks_n * C::mesh_cols * p.tile_n + c.col() * p.tile_n;
      at.m = tile / p.oh / blocks / blocks_n * C::mesh_rows * p.tile_m + c.row() * p.tile_m;
      auto acc = c.template acc<float>(p.acc_buf, p.shape(p.columns * p.tile_m));
      c.pipeline(
          p.kh, Depth::one, [&](i64 a) { return a; }, [&](i64 a, i64&) { p.kernel_row(c, at, acc, a); });
      for (i64 i = 0; i < at.cols; ++i) {
        auto sums = c.rows(acc, i * p.tile_m, p.tile_m);
        c.store(sums, p.destination(at, i), [](float value, float, i64, i64) { return value; });
      }
    });
  }

 private:
  struct Place {
    i64 row, col, cols, m, n;
  };
  CORTADO_FN TileShape shape(i64 rows) const {
    TileShape s;
    s.m = rows;
    s.n0 = tile_n;
    s.k = tile_k;
    return s;
  }

  template <class C, class Acc>
  CORTADO_FN void kernel_row(C& c, const Place& at, Acc& acc, i64 a) const {
    const i64 row = at.row - ph + a;
    if (row < 0 || row >= ih) return;
    const i64 last = at.col + at.cols - 1 - pw + kw;
    for (i64 col = at.col > pw ? at.col - pw : 0; col < iw && col < last; ++col)
      for (i64 k0 = 0; k0 < k; k0 += C::mesh_cols * tile_k) input_column(c, at, acc, a, row, col, k0);
  }

  template <class C, class Acc>
  CORTADO_FN void input_column(C& c, const Place& at, Acc& acc, i64 a, i64 row, i64 col, i64 k0) const {
    RightView view;
    view.k_stride = tile_n;
    auto pixels = c.stage_b(
        x_buf, Box<float>::matrix(x + (row * iw + col) * k * n, k, n, n, k0 + c.row() * tile_k, at.n, tile_k, tile_n),
        view);
    for (i64 b = 0; b < kw; ++b) {
      const i64 out = col + pw - b - at.col;  // the column of the block that kernel column b adds to
      if (out < 0 || out >= at.cols) continue;
      const i64 position = turned ? (kh - 1 - a) * kw + kw - 1 - b : a * kw + b;
      auto weights = c.stage_a(
          w_buf, Box<float>::matrix(w + position * m * k, m, k, k, at.m, k0 + c.col() * tile_k, tile_m, tile_k),
          LeftView{tile_k, 1});
      auto sums = c.rows(acc, out * tile_m, tile_m);
      for (int t = 0; t < C::mesh_cols; ++t) c.fma(sums, c.row_share(weights, t), c.col_share(pixels, t), Taps{});
    }
  }

  CORTADO_FN OutBox<float> destination(const Place& at, i64 i) const {
    OutBox<float> box;
    box.base = y + ((at.row * ow + at.col + i) * m + at.m) * n + at.n;
    box.rows = m - at.m;
    box.limit0 = n - at.n;
    box.pitch_m = n;
    box.reads_old = false;
    return box;
  }
};

}  // namespace cortado
