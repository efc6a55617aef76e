#pragma once
#include "core/machine/integers.h"
#include "core/machine/math.h"
#include "core/machine/program.h"

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
          return both(g.left(c, at, part, k0 + c.col() * g.tile_k), g.right(c, at, part, k0 + c.row() * g.tile_k));
        },
        [&](i64, auto& tiles, auto& acc) {
          for (int t = 0; t < C::mesh_cols; ++t)
            c.fma(acc, c.row_share(tiles.first, t), c.col_share(tiles.second, t), Taps{});
        },
        [&](i64 block, auto& acc) {
          const T alpha = g.alpha, beta = g.beta;
          // beta = 0 must not read y: it may hold NaN.
          c.store(acc, g.destination(place(block)), [alpha, beta](T value, T old, i64) {
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

/// Adds bias[j] to element j of every line of y: the bias of inner products, one value per output.
struct AddToColumns {
  static constexpr const char* label = "add_to_columns";
  const float* bias;
  float* y;
  i64 rows, width, block;
  Buf bias_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const AddToColumns p = *this;
    const i64 blocks = (p.width + p.block - 1) / p.block;
    c.lines(
        p.rows * blocks, Depth::two,
        [&](i64 i) {
          const i64 first = i % blocks * p.block;
          return c.get(p.bias_buf, p.bias + first, math::min(p.block, p.width - first));
        },
        [&](i64 i, auto& bias) {
          auto y = c.update(p.y_buf, p.y + i / blocks * p.width + i % blocks * p.block, bias.n);
          c.each(y.n, [&](i64 j) { y.set(j, y.at(j) + bias[j]); });
          c.put(y);
        });
  }
};

/// sums[j] += sum of x[(i outer_stride) + j inner_stride + e] over i < outer and e < inner: the gradient of a bias,
/// whose element j stands in `outer` places of `inner` consecutive values. Lines are elements j, summed in one order.
template <class T>
struct SumToBias {
  static constexpr const char* label = "sum_to_bias";
  const T* x;
  float* sums;
  i64 count, outer, inner, block;
  Buf x_buf, sum_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SumToBias p = *this;
    const i64 blocks = (p.inner + p.block - 1) / p.block;
    c.lines(
        p.count, Depth::one, [&](i64 j) { return j; },
        [&](i64 j, i64&) {
          double sum = 0;
          c.pipeline(
              p.outer * blocks, Depth::two,
              [&](i64 i) {
                const i64 first = i % blocks * p.block;
                return c.get(p.x_buf, p.x + (i / blocks * p.count + j) * p.inner + first,
                             math::min(p.block, p.inner - first));
              },
              [&](i64, auto& x) {
                sum += c.fold(
                    x.n, 0.0f, [](float a, float b) { return a + b; }, [&](i64 e) { return x[e]; });
              });
          auto total = c.update(p.sum_buf, p.sums + j, 1);
          c.once([&] { total.set(0, total.at(0) + static_cast<float>(sum)); });
          c.put(total);
        });
  }
};

/// The gradient of a bias with a rectifier behind it: dy where y is positive, slope dy elsewhere, in place, and sums[j]
/// += the sum of that over channel j, y and dy being outer x count x inner. A line is a channel.
template <class T>
struct RectifyAndSum {
  static constexpr const char* label = "rectify_and_sum";
  const T* y;
  T* dy;
  float* sums;
  float slope;
  i64 count, outer, inner, block;
  Buf y_buf, dy_buf, sum_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const RectifyAndSum p = *this;
    const i64 blocks = ceil_div(p.inner, p.block);
    const auto place = [p, blocks](i64 j, i64 i) {
      return (i / blocks * p.count + j) * p.inner + i % blocks * p.block;
    };
    const auto size = [p, blocks](i64 i) { return math::min(p.block, p.inner - i % blocks * p.block); };
    c.lines(
        p.count, Depth::one, [&](i64 j) { return j; },
        [&](i64 j, i64&) {
          double sum = 0;
          c.pipeline(
              p.outer * blocks, Depth::two, [&](i64 i) { return c.get(p.y_buf, p.y + place(j, i), size(i)); },
              [&](i64 i, auto& in) {
                const auto y = in;
                const float slope = p.slope;
                auto dy = c.update(p.dy_buf, p.dy + place(j, i), y.n);
                c.each(y.n, [&](i64 e) {
                  const auto v = dy.at(e);
                  dy.set(e, math::select(y[e] > 0.0f, v, slope * v));
                });
                sum += c.fold(
                    y.n, 0.0f, [](float a, float b) { return a + b; }, [&](i64 e) { return dy.at(e); });
                c.put(dy);
              });
          auto total = c.update(p.sum_buf, p.sums + j, 1);
          c.once([&] { total.set(0, total.at(0) + static_cast<float>(sum)); });
          c.put(total);
        });
  }
};

/// sums[j] += sum over i of x[i][j] for a rows x width matrix: the bias gradient of inner products. A line is a block
/// of columns, so that rows are read along.
template <class T>
struct SumColumns {
  static constexpr const char* label = "sum_columns";
  const T* x;
  float* sums;
  i64 rows, width, block;
  Buf x_buf, sum_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SumColumns p = *this;
    c.lines((p.width + p.block - 1) / p.block, Depth::one, [&](i64 i) { return i; },
            [&](i64 line, i64&) {
              const i64 first = line * p.block, n = math::min(p.block, p.width - first);
              auto total = c.update(p.sum_buf, p.sums + first, n);
              c.pipeline(
                  p.rows, Depth::two, [&](i64 r) { return c.get(p.x_buf, p.x + r * p.width + first, n); },
                  [&](i64, auto& x) { c.each(n, [&](i64 j) { total.set(j, total.at(j) + x[j]); }); });
              c.put(total);
            });
  }
};

}  // namespace cortado
