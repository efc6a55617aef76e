#include "backends/kokkos/host_multiply.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace cortado::kokkos {
namespace {

// A block of the accumulator that stays in registers: `max_rows` x `max_vectors`, leaving registers for the vectors
// of B and one broadcast element of A.
#if defined(__AVX512F__)
constexpr int lanes = 16, max_rows = 8, max_vectors = 3;
#elif defined(__AVX__)
constexpr int lanes = 8, max_rows = 4, max_vectors = 3;
#else
constexpr int lanes = 4, max_rows = 4, max_vectors = 3;
#endif
typedef float Vector __attribute__((vector_size(4 * lanes)));

/// One vector of the accumulator's columns: where B has it, which column it starts at, how many lanes count.
struct Columns {
  i64 b;
  i64 column;
  int count;
};

/// What all blocks of one multiply share.
struct Job {
  float* acc;
  i64 acc_pitch;
  const float* a;
  LeftView a_view;
  const float* b;
  i64 b_k_stride;
  i64 k;
  Taps taps;
};

Vector load(const float* p) {
  Vector v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// Without the pragmas the compiler keeps the sums in memory.
template <int rows, int vectors>
void multiply_block(const Job& job, i64 row, const Columns* columns) {
  Vector sum[rows][vectors];
  float* const acc = job.acc + row * job.acc_pitch;
  const float* const a = job.a + row * job.a_view.m_stride;
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) sum[r][v] = load(acc + r * job.acc_pitch + columns[v].column);

  const i64 m_stride = job.a_view.m_stride, k_stride = job.a_view.k_stride;
  for (i64 t1 = 0; t1 < job.taps.count1; ++t1)
    for (i64 t0 = 0; t0 < job.taps.count0; ++t0) {
      const float* pa = a + job.taps.a1 * t1 + job.taps.a0 * t0;
      const float* pb[vectors];
      for (int v = 0; v < vectors; ++v) pb[v] = job.b + columns[v].b + job.taps.b1 * t1 + job.taps.b0 * t0;
      for (i64 k = 0; k < job.k; ++k, pa += k_stride) {
        Vector line[vectors];
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) {
          line[v] = load(pb[v]);
          pb[v] += job.b_k_stride;
        }
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r)
#pragma GCC unroll 3
          for (int v = 0; v < vectors; ++v) sum[r][v] += pa[r * m_stride] * line[v];
      }
    }

#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v)
      std::memcpy(acc + r * job.acc_pitch + columns[v].column, &sum[r][v],
                  sizeof(float) * static_cast<std::size_t>(columns[v].count));
}

using BlockFunction = void (*)(const Job&, i64, const Columns*);

template <int... i>
constexpr std::array<BlockFunction, sizeof...(i)> block_functions(std::integer_sequence<int, i...>) {
  return {&multiply_block<i / max_vectors + 1, i % max_vectors + 1>...};
}
constexpr auto functions = block_functions(std::make_integer_sequence<int, max_rows * max_vectors>());

/// Calls f(first, count) for 0..n-1 in parts of at most `most`, as equal as can be.
template <class F>
void in_parts(i64 n, i64 most, F f) {
  const i64 parts = (n + most - 1) / most;
  for (i64 p = 0; p < parts; ++p) f(n * p / parts, n * (p + 1) / parts - n * p / parts);
}

void multiply_rows(const Job& job, i64 m, const Columns* columns, i64 vectors) {
  in_parts(m, max_rows, [&](i64 row, i64 rows) {
    functions[static_cast<std::size_t>((rows - 1) * max_vectors + vectors - 1)](job, row, columns);
  });
}

/// Walks over the vectors that the columns of B make; runs along n0 that follow each other without a gap are one.
class ColumnWalk {
 public:
  ColumnWalk(const TileShape& shape, const RightView& view) : shape_(shape), view_(view) {
    if (view_.n1_stride == view_.n0_stride * shape_.n0 || shape_.n1 == 1) join(shape_.n0, shape_.n1);
    if (shape_.n1 == 1 && (view_.n2_stride == view_.n0_stride * shape_.n0 || shape_.n2 == 1))
      join(shape_.n0, shape_.n2);
    per_run_ = (shape_.n0 + lanes - 1) / lanes;
  }

  i64 vectors() const { return per_run_ * shape_.n1 * shape_.n2; }

  Columns operator()(i64 i) const {
    const i64 n0 = i % per_run_ * lanes, run = i / per_run_, n1 = run % shape_.n1, n2 = run / shape_.n1;
    return {n2 * view_.n2_stride + n1 * view_.n1_stride + n0 * view_.n0_stride, run * shape_.n0 + n0,
            static_cast<int>(std::min<i64>(lanes, shape_.n0 - n0))};
  }

 private:
  static void join(i64& inner, i64& outer) {
    inner *= outer;
    outer = 1;
  }

  TileShape shape_;
  RightView view_;
  i64 per_run_ = 0;
};

constexpr i64 packed_terms = 128;  // rows of B packed at a time: 24 KiB at most, half of a first-level cache

/// Columns that are not next to each other in B: packs `packed_terms` rows at a time and multiplies those.
void multiply_packed(Job job, i64 m, const Columns* columns, i64 vectors, i64 n0_stride) {
  alignas(64) float packed[packed_terms * max_vectors * lanes];
  Columns at[max_vectors];
  for (i64 v = 0; v < vectors; ++v) at[v] = {v * lanes, columns[v].column, columns[v].count};
  const Job whole = job;
  job.b = packed;
  job.b_k_stride = vectors * lanes;
  job.taps = {};
  for (i64 t = 0; t < whole.taps.count1 * whole.taps.count0; ++t) {
    const i64 t1 = t / whole.taps.count0, t0 = t % whole.taps.count0;
    const float* const b = whole.b + whole.taps.b1 * t1 + whole.taps.b0 * t0;
    const float* const a = whole.a + whole.taps.a1 * t1 + whole.taps.a0 * t0;
    for (i64 first = 0; first < whole.k; first += packed_terms) {
      job.k = std::min(packed_terms, whole.k - first);
      job.a = a + first * whole.a_view.k_stride;
      for (i64 k = 0; k < job.k; ++k)
        for (i64 v = 0; v < vectors; ++v)
          for (int i = 0; i < columns[v].count; ++i)
            packed[k * job.b_k_stride + v * lanes + i] =
                b[columns[v].b + i * n0_stride + (first + k) * whole.b_k_stride];
      multiply_rows(job, m, at, vectors);
    }
  }
}

}  // namespace

void host_multiply(const Acc<float>& acc, const LeftOperand<float>& a, const RightOperand<float>& b, const Taps& taps) {
  const ColumnWalk walk(acc.shape, b.view);
  const Job job{acc.p, acc.shape.n(), a.p, a.view, b.p, b.view.k_stride, acc.shape.k, taps};
  in_parts(walk.vectors(), max_vectors, [&](i64 first, i64 count) {
    Columns columns[max_vectors];
    for (i64 v = 0; v < count; ++v) columns[v] = walk(first + v);
    if (b.view.n0_stride == 1)
      multiply_rows(job, acc.shape.m, columns, count);
    else
      multiply_packed(job, acc.shape.m, columns, count, b.view.n0_stride);
  });
}

}  // namespace cortado::kokkos
