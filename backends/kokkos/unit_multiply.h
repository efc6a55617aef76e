#pragma once
#include "backends/kokkos/amx.h"
#include "backends/kokkos/multiply_job.h"

namespace cortado::kokkos {

/// Rows of a tile register, and the floats or pairs of bf16 of one of its rows.
constexpr i64 tile_rows = 16, tile_lanes = 16;

/// True if the columns of B fill tile registers, and lie in them as they lie in memory.
inline bool fills_tiles(const TileShape& shape, const RightView& view) {
  if (vector_lanes != tile_lanes || view.n0_stride != 1) return false;
  const ColumnWalk walk(shape, view);
  return walk.vectors() * tile_lanes == shape.n();
}

/// Tile registers: sums in blocks of up to two by two, then A and B of sixteen pairs, and of the rest.
enum TileRegister { first_sums = 0, whole_a = 4, whole_b = 5, rest_a = 6, rest_b = 7 };

inline TileRegisters tile_registers(i64 rows, i64 rest) {
  TileRegisters registers;
  for (int i = 0; i < 4; ++i) registers.set(first_sums + i, rows, 4 * tile_lanes);
  registers.set(whole_a, rows, 4 * tile_lanes);
  registers.set(whole_b, tile_lanes, 4 * tile_lanes);
  if (rest > 0) registers.set(rest_a, rows, 4 * rest), registers.set(rest_b, rest, 4 * tile_lanes);
  return registers;
}

/// `rows` rows of `terms` terms of A to consecutive rows of a tile. May read one vector past a row of the box.
inline void turn_to_tile(const bf16x2* a, LeftView view, i64 rows, i64 terms, bf16x2* tile) {
  if constexpr (vector_lanes == tile_lanes)
    if (view.m_stride == 1) {
      Square square = {};
      for (i64 k = 0; k < terms; ++k) square[static_cast<std::size_t>(k)] = load_vector(a + k * view.k_stride);
      transpose(square);
      for (i64 r = 0; r < rows; ++r) store_vector(tile + r * tile_lanes, square[static_cast<std::size_t>(r)]);
      return;
    }
  for (i64 r = 0; r < rows; ++r)
    for (i64 k = 0; k < terms; ++k) tile[r * tile_lanes + k] = a[r * view.m_stride + k * view.k_stride];
}

/// sums (blocks x vectors tiles) += `terms` terms of A times those of B, by the registers `a` and `b`.
template <class Unit, int blocks, int vectors, int a, int b>
void multiply_tiles(const bf16x2* from_a, LeftView view, const bf16x2* const* from_b, i64 b_stride, i64 rows,
                    i64 terms) {
  alignas(64) bf16x2 turned[tile_rows * tile_lanes];
  const auto load_a = [&](const bf16x2* from) {
    if (view.k_stride == 1) return Unit::template load<a>(from, 4 * view.m_stride);
    turn_to_tile(from, view, rows, terms, turned);
    Unit::template load<a>(turned, 4 * tile_lanes);
  };
  load_a(from_a);
  Unit::template load<b>(from_b[0], 4 * b_stride);
  Unit::template multiply<0, a, b>();
  if constexpr (vectors == 2) {
    Unit::template load<b>(from_b[1], 4 * b_stride);
    Unit::template multiply<1, a, b>();
  }
  if constexpr (blocks == 2) {
    load_a(from_a + rows * view.m_stride);
    if constexpr (vectors == 2) {  // which is there still
      Unit::template multiply<3, a, b>();
      Unit::template load<b>(from_b[0], 4 * b_stride);
    }
    Unit::template multiply<2, a, b>();
  }
}

/// A block of `blocks` times `rows` rows from `row` on, and of up to two vectors of columns.
template <class Unit, int blocks, int vectors>
void multiply_unit_block(const Job<bf16x2>& job, i64 row, i64 rows, const VectorColumns* columns) {
  float* const acc = job.acc + row * job.acc_pitch;
  const auto each_sum = [&](auto f) {
    const auto at = [&](int block, int v) { return acc + block * rows * job.acc_pitch + columns[v].column; };
    f(std::integral_constant<int, 0>(), at(0, 0));
    if constexpr (vectors == 2) f(std::integral_constant<int, 1>(), at(0, 1));
    if constexpr (blocks == 2) f(std::integral_constant<int, 2>(), at(1, 0));
    if constexpr (blocks == 2 && vectors == 2) f(std::integral_constant<int, 3>(), at(1, 1));
  };
  each_sum([&](auto tile, const float* p) { Unit::template load<tile()>(p, 4 * job.acc_pitch); });

  const i64 k_stride = job.a_view.k_stride, b_stride = job.b_k_stride, rest = job.k % tile_lanes;
  for (i64 t1 = 0; t1 < job.taps.count1; ++t1)
    for (i64 t0 = 0; t0 < job.taps.count0; ++t0) {
      const bf16x2* a = job.a + row * job.a_view.m_stride + job.taps.a + job.taps.a1 * t1 + job.taps.a0 * t0;
      const bf16x2* b[vectors];
      for (int v = 0; v < vectors; ++v) b[v] = job.b + columns[v].b + job.taps.b + job.taps.b1 * t1 + job.taps.b0 * t0;
      for (i64 k = 0; k + tile_lanes <= job.k; k += tile_lanes) {
        multiply_tiles<Unit, blocks, vectors, whole_a, whole_b>(a, job.a_view, b, b_stride, rows, tile_lanes);
        a += tile_lanes * k_stride;
        for (int v = 0; v < vectors; ++v) b[v] += tile_lanes * b_stride;
      }
      if (rest > 0) multiply_tiles<Unit, blocks, vectors, rest_a, rest_b>(a, job.a_view, b, b_stride, rows, rest);
    }

  each_sum([&](auto tile, float* p) { Unit::template store<tile()>(p, 4 * job.acc_pitch); });
}

/// `count` rows from `row` on, `rows` to a tile.
template <class Unit, int vectors>
void multiply_unit_rows(const Job<bf16x2>& job, i64 row, i64 count, i64 rows, const VectorColumns* columns) {
  Unit::configure(tile_registers(rows, job.k % tile_lanes));
  const i64 end = row + count;
  for (; row + 2 * rows <= end; row += 2 * rows) multiply_unit_block<Unit, 2, vectors>(job, row, rows, columns);
  if (row < end) multiply_unit_block<Unit, 1, vectors>(job, row, rows, columns);
}

/// Rows of A to a tile: nearly all that it has, so that as many are left for every tile; where that cannot be, all,
/// which leaves a last one with fewer.
inline i64 rows_to_tile(i64 m) {
  if (m <= tile_rows) return m;
  for (i64 rows = tile_rows; 2 * rows > tile_rows; --rows)
    if (m % rows == 0) return rows;
  return tile_rows;
}

/// acc += a b for m rows and columns of which `vector(i)` is the i-th sixteen, by the matrix unit of one thread. `Unit`
/// has Amx's functions.
template <class Unit, class F>
void unit_multiply(const Job<bf16x2>& job, i64 m, i64 vectors, F vector) {
  const i64 rows = rows_to_tile(m), rest = m % rows;
  in_parts(vectors, 2, [&](i64 first, i64 count) {
    const VectorColumns columns[2] = {vector(first), vector(first + count - 1)};
    const auto multiply = count == 2 ? &multiply_unit_rows<Unit, 2> : &multiply_unit_rows<Unit, 1>;
    multiply(job, 0, m - rest, rows, columns);
    if (rest > 0) multiply(job, m - rest, rest, rest, columns);
  });
}

/// The same for operands whose columns fill tiles.
template <class Unit>
void unit_multiply(const Acc<float>& acc, const LeftOperand<bf16x2>& a, const RightOperand<bf16x2>& b,
                   const Taps& taps) {
  if (acc.shape.m == 0 || acc.shape.k == 0) return;
  const ColumnWalk walk(acc.shape, b.view);
  unit_multiply<Unit>({acc.p, acc.shape.n(), a.p, a.view, b.p, b.view.k_stride, acc.shape.k, taps}, acc.shape.m,
                      walk.vectors(), walk);
}

}  // namespace cortado::kokkos
