#pragma once
#include "core/machine/elementwise.h"
#include "core/machine/integers.h"
#include "core/machine/view.h"

namespace cortado {

/// A matrix by its strides: element (i, j) is p[i row + j col]. One of the strides is 1.
template <class T>
struct Strided {
  const T* p = nullptr;
  i64 row = 0, col = 0;
};

/// y = alpha a b + beta y by register communication (swCaffe section IV-A): each mesh computes blocks of
/// (mesh_rows tile_m) x (mesh_cols tile_n); CPE (r, c) stages the tiles A(r, c) and B(r, c) of a slab of
/// mesh_cols tile_k terms, and in step t multiplies what CPE (r, t) shares along its row with what CPE (t, c) shares
/// along its column. a is m x k, b is k x n; `count` products, whose operands and results lie strides apart, each
/// summed over `parts` pairs of operands that lie part_a and part_b apart.
template <class T>
struct Gemm {
  static constexpr const char* label = "gemm";
  Strided<T> a, b;
  T* y = nullptr;
  i64 ldy = 0;
  i64 m = 0, n = 0, k = 0;
  i64 count = 1, stride_a = 0, stride_b = 0, stride_y = 0;
  i64 parts = 1, part_a = 0, part_b = 0;
  T alpha = 1, beta = 0;
  i64 tile_m = 0, tile_n = 0, tile_k = 0;
  Buf a_buf, b_buf, acc_buf;
  Depth depth = Depth::two;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const Gemm g = *this;
    const i64 block_m = C::mesh_rows * g.tile_m, block_n = C::mesh_cols * g.tile_n, slab = C::mesh_cols * g.tile_k;
    const i64 blocks_m = (g.m + block_m - 1) / block_m, blocks_n = (g.n + block_n - 1) / block_n;
    const i64 slabs = math::max(i64{1}, (g.k + slab - 1) / slab);
    const auto place = [&](i64 block) {
      return Place{block / (blocks_m * blocks_n), block / blocks_n % blocks_m * block_m + c.row() * g.tile_m,
                   block % blocks_n * block_n + c.col() * g.tile_n};
    };
    c.tiles(
        g.count * blocks_m * blocks_n, g.parts * slabs, g.depth,
        [&](i64) { return c.template acc<T>(g.acc_buf, g.shape()); },
        [&](i64 block, i64 s) {
          const Place at = place(block);
          const i64 part = s / slabs, k0 = s % slabs * slab;
          return gather(g.left(c, at, part, k0 + c.col() * g.tile_k), g.right(c, at, part, k0 + c.row() * g.tile_k));
        },
        named([&](i64, auto& left, auto& right, auto& acc) {
          for (int t = 0; t < C::mesh_cols; ++t) c.fma(acc, c.row_share(left, t), c.col_share(right, t), Taps{});
        }),
        [&](i64 block, auto& acc) {
          const T alpha = g.alpha, beta = g.beta;
          // beta = 0 must not read y: it may hold NaN.
          c.store(acc, g.destination(place(block)), [alpha, beta](T value, T old, i64, i64) {
            return beta == T(0) ? alpha * value : alpha * value + beta * old;
          });
        });
  }

 private:
  /// The place of a CPE's tile: its product, and its first row and column.
  struct Place {
    i64 product, row, col;
  };
  CORTADO_FN TileShape shape() const {
    TileShape s;
    s.m = tile_m;
    s.n0 = tile_n;
    s.k = tile_k;
    return s;
  }

  /// Staged in the order it is stored, so that transfers stay long.
  template <class C>
  CORTADO_FN auto left(C& c, const Place& at, i64 part, i64 k0) const {
    const T* const base = a.p + at.product * stride_a + part * part_a;
    return a.col == 1
               ? c.stage_a(a_buf, Box<T>::matrix(base, m, k, a.row, at.row, k0, tile_m, tile_k), LeftView{tile_k, 1})
               : c.stage_a(a_buf, Box<T>::matrix(base, k, m, a.col, k0, at.row, tile_k, tile_m), LeftView{1, tile_m});
  }

  /// Staged with columns next to each other, which vector multiplies want.
  template <class C>
  CORTADO_FN auto right(C& c, const Place& at, i64 part, i64 k0) const {
    Box<T> box = Box<T>::matrix(b.p + at.product * stride_b + part * part_b, k, n, b.row, k0, at.col, tile_k, tile_n);
    box.pitch[3] = b.col;
    RightView view;
    view.k_stride = tile_n;
    return c.stage_b(b_buf, box, view);
  }

  CORTADO_FN OutBox<T> destination(const Place& at) const {
    OutBox<T> box;
    box.base = y + at.product * stride_y + at.row * ldy + at.col;
    box.rows = m - at.row;
    box.limit0 = n - at.col;
    box.pitch_m = ldy;
    box.reads_old = beta != T(0);
    return box;
  }
};

/// Adds the column's bias: of inner products, one value per output.
struct AddToColumns {
  static constexpr const char* label = "add_to_columns";
  template <class V>
  CORTADO_FN auto operator()(V y, V bias) const {
    return y + bias;
  }
};

/// sums[j] += sum over i of x[i][j] for a rows x width matrix: the bias gradient of inner products. A line is a block
/// of columns, so that rows are read along.
template <class T>
struct SumColumns {
  static constexpr const char* label = "sum_columns";
  Lines<const T> x;
  Lines<float> sums;  ///< a row, cut as those of x

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SumColumns p = *this;
    each_line(c, p.sums.lines(), [&](i64 i) {
      auto total = p.sums.update(c, i);
      c.pipeline(
          p.x.cut.rows, Depth::two, [&](i64 r) { return p.x.get(c, p.x.cut.line(r, i)); },
          [&](i64, auto& x) { c.each(total.n, [&](i64 j) { total.set(j, total.at(j) + x[j]); }); });
      c.put(total);
    });
  }
};

}  // namespace cortado
