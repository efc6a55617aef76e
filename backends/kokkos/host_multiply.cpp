#include "backends/kokkos/host_multiply.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "backends/kokkos/amx.h"
#include "backends/kokkos/multiply_job.h"
#include "backends/kokkos/unit_multiply.h"
#include "core/base/layout.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

namespace cortado::kokkos {
namespace {

constexpr int lanes = vector_lanes, registers = vector_registers;

// A block of the accumulator, rows x vectors, stays in registers, beside the vectors of B and one element of A.
constexpr int max_vectors = registers == 32 ? 4 : 3, max_rows = registers / 2 - 1;
constexpr int rows_beside(int vectors) { return std::min((registers - 1 - vectors) / vectors, max_rows); }

/// Operands whose terms are cache lines that follow each other are asked for so many terms ahead.
constexpr i64 lines_ahead = 32;

/// sum += a times each lane of b.
inline void accumulate(Vector& sum, float a, Vector b) { sum += a * b; }
/// The same for pairs.
inline void accumulate(Vector& sum, bf16x2 a, Vector b) {
  std::uint32_t word;
  std::memcpy(&word, &a, sizeof word);
#if defined(__AVX512BF16__)
  sum = _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(word))),
                         reinterpret_cast<__m512bh>(b));
#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC) && __ARM_FEATURE_SVE_BITS >= 256
  const SvePairs pairs = reinterpret_cast<SvePairs>(Words{} + word);
  const SveVector dots = svbfdot_f32(reinterpret_cast<SveVector>(sum), pairs, reinterpret_cast<SvePairs>(b));
  sum = reinterpret_cast<Vector>(dots);
#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
  sum = vbfdotq_f32(sum, vreinterpretq_bf16_u32(vdupq_n_u32(word)), reinterpret_cast<bfloat16x8_t>(b));
#else
  const Words words = reinterpret_cast<Words>(b), first = words << 16, second = words & 0xFFFF0000u;
  sum += static_cast<float>(a.first) * reinterpret_cast<Vector>(first);
  sum += static_cast<float>(a.second) * reinterpret_cast<Vector>(second);
#endif
}

/// True if each term's rows of A, and a vector of B, are a cache line, and terms follow each other: blocks of channels.
template <class T>
bool has_lines(const Job<T>& job) {
  constexpr i64 line = cache_line / sizeof(float);
  return job.a_view.m_stride == 1 && job.a_view.k_stride == line && job.b_k_stride == line;
}

/// A block whose columns have whole vectors; has_lines() if `lines`, which saves all arithmetic on addresses.
// The compiler keeps the sums in memory without the pragmas, where sums might leave as they came (hence the return), or
// where their addresses are taken. Three rows of A share a pointer: more would need more registers for their strides,
// fewer for themselves.
template <class T, int rows, int vectors, bool lines = false>
void multiply_block(const Job<T>& job, i64 row, const VectorColumns* columns) {
  if (job.taps.count1 <= 0 || job.taps.count0 <= 0 || job.k <= 0) return;
  Vector sum[rows][vectors];
  constexpr i64 line = cache_line / sizeof(float);
  const i64 m_stride = lines ? 1 : job.a_view.m_stride, k_stride = lines ? line : job.a_view.k_stride,
            b_stride = lines ? line : job.b_k_stride;
  const T* const a = job.a + job.taps.a + row * m_stride;
  const T* const b = job.b + job.taps.b;
  float* acc[vectors];
  for (int v = 0; v < vectors; ++v) acc[v] = job.acc + row * job.acc_pitch + columns[v].column;
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) sum[r][v] = job.sets ? Vector{} : load_vector(acc[v] + r * job.acc_pitch);

  // Processors foresee such lines, but not beyond a page; asking takes registers for addresses.
  const bool foresees = rows * vectors <= registers / 2 && std::is_same_v<T, float> && k_stride == line;
  constexpr int shared = lines ? rows : 3, pointers = (rows + shared - 1) / shared;
  for (i64 t1 = 0; t1 < job.taps.count1; ++t1)
    for (i64 t0 = 0; t0 < job.taps.count0; ++t0) {
      const T *pa[pointers], *pb[vectors];
      for (int j = 0; j < pointers; ++j) pa[j] = a + shared * j * m_stride + job.taps.a1 * t1 + job.taps.a0 * t0;
      for (int v = 0; v < vectors; ++v) pb[v] = b + columns[v].b + job.taps.b1 * t1 + job.taps.b0 * t0;
      if (job.asks_ahead)
        for (int r = 0; r < rows; ++r) __builtin_prefetch(pa[0] + (r + 2 * rows) * m_stride, 0, 2);
      const auto add_term = [&](i64 k) __attribute__((always_inline)) {
        if (foresees) {
          __builtin_prefetch(pa[0] + (k + lines_ahead) * k_stride);
#pragma GCC unroll 4
          for (int v = 0; v < vectors; ++v) __builtin_prefetch(pb[v] + (k + lines_ahead) * b_stride);
        }
        Vector line_of_b[vectors];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) line_of_b[v] = load_vector(pb[v] + k * b_stride);
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
          for (int v = 0; v < vectors; ++v)
            accumulate(sum[r][v], pa[r / shared][r % shared * m_stride + k * k_stride], line_of_b[v]);
      };
      const auto go_on = [&](i64 terms) __attribute__((always_inline)) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) pb[v] += terms * b_stride;
#pragma GCC unroll 5
        for (int j = 0; j < pointers; ++j) pa[j] += terms * k_stride;
      };
      i64 k = 0;
      if constexpr (lines)
        for (; k + 4 <= job.k; k += 4) {
          add_term(0), add_term(1), add_term(2), add_term(3);
          go_on(4);
        }
      if (lines && k + 2 <= job.k) {
        add_term(0), add_term(1);
        go_on(2);
        k += 2;
      }
      for (; k < job.k; ++k) {
        add_term(0);
        go_on(1);
      }
    }

#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) store_vector(acc[v] + r * job.acc_pitch, sum[r][v]);
}

/// True for parts of a block of channels as registers hold them. These rows are worth code of their own for `lines`.
constexpr bool part_blocks(int rows, int vectors) {
  const int most = rows_beside(vectors), parts = (block_channels + most - 1) / most;
  return rows == block_channels / parts || rows == (block_channels + parts - 1) / parts;
}

template <class T>
using BlockFunction = void (*)(const Job<T>&, i64, const VectorColumns*);

template <class T, bool lines, int i>
constexpr BlockFunction<T> block_function() {
  constexpr int rows = i / max_vectors + 1, vectors = i % max_vectors + 1;
  constexpr bool whole_lines = lines && part_blocks(rows, vectors);
  if constexpr (rows <= rows_beside(vectors))
    return &multiply_block<T, rows, vectors, whole_lines>;
  else
    return nullptr;
}
template <class T, bool lines, int... i>
constexpr std::array<BlockFunction<T>, sizeof...(i)> block_functions(std::integer_sequence<int, i...>) {
  return {block_function<T, lines, i>()...};
}
template <class T, bool lines>
constexpr auto functions = block_functions<T, lines>(std::make_integer_sequence<int, max_rows * max_vectors>());

template <class T>
void multiply_whole(const Job<T>& job, i64 row, i64 rows, const VectorColumns* columns, i64 vectors) {
  const auto& blocks = has_lines(job) ? functions<T, true> : functions<T, false>;
  blocks[static_cast<std::size_t>((rows - 1) * max_vectors + vectors - 1)](job, row, columns);
}

/// A block some of whose vectors have fewer lanes: its sums go where there is room for whole ones, and back.
template <class T>
void multiply_ragged(const Job<T>& there, i64 row, i64 rows, const VectorColumns* columns, i64 vectors) {
  float sums[registers * lanes] = {};
  VectorColumns at[max_vectors] = {};
  Job<T> job = there;
  const auto each_run = [&](auto copy) {
    for (i64 r = 0; r < rows; ++r)
      for (i64 v = 0; v < vectors; ++v)
        copy(sums + (r * vectors + v) * lanes, there.acc + (row + r) * there.acc_pitch + columns[v].column,
             sizeof(float) * static_cast<std::size_t>(columns[v].count));
  };
  for (i64 v = 0; v < vectors; ++v) at[v] = {columns[v].b, v * lanes, lanes};
  job.acc = sums, job.acc_pitch = vectors * lanes;
  job.a += row * job.a_view.m_stride;
  each_run([](float* sum, const float* acc, std::size_t bytes) { std::memcpy(sum, acc, bytes); });
  multiply_whole(job, 0, rows, at, vectors);
  each_run([](const float* sum, float* acc, std::size_t bytes) { std::memcpy(acc, sum, bytes); });
}

template <class T>
void multiply_rows(const Job<T>& job, i64 m, const VectorColumns* columns, i64 vectors) {
  const bool whole = std::all_of(columns, columns + vectors, [](const VectorColumns& c) { return c.count == lanes; });
  const auto multiply = whole ? &multiply_whole<T> : &multiply_ragged<T>;
  in_parts(m, rows_beside(static_cast<int>(vectors)),
           [&](i64 row, i64 rows) { multiply(job, row, rows, columns, vectors); });
}

/// Vectors of a block: two leave room for the most rows, which hides latency and loads; short accumulators take more.
i64 best_width(i64 m, i64 vectors) {
  if (m <= rows_beside(max_vectors)) return max_vectors;
  return vectors % 2 == 0 ? 2 : 3;
}

constexpr i64 packed_terms = 128;  // rows of B packed at a time: 24 KiB at most, half of a first-level cache

/// Columns that are not next to each other in B: packs `packed_terms` rows at a time and multiplies those.
template <class T>
void multiply_packed(Job<T> job, i64 m, const VectorColumns* columns, i64 vectors, i64 n0_stride) {
  alignas(64) T packed[packed_terms * max_vectors * lanes];
  VectorColumns at[max_vectors];
  for (i64 v = 0; v < vectors; ++v) at[v] = {v * lanes, columns[v].column, columns[v].count};
  const Job<T> whole = job;
  job.b = packed;
  job.b_k_stride = vectors * lanes;
  job.taps = {};
  for (i64 t = 0; t < whole.taps.count1 * whole.taps.count0; ++t) {
    const i64 t1 = t / whole.taps.count0, t0 = t % whole.taps.count0;
    const T* const b = whole.b + whole.taps.b + whole.taps.b1 * t1 + whole.taps.b0 * t0;
    const T* const a = whole.a + whole.taps.a + whole.taps.a1 * t1 + whole.taps.a0 * t0;
    for (i64 first = 0; first < whole.k; first += packed_terms) {
      job.k = std::min(packed_terms, whole.k - first);
      job.sets = whole.sets && t == 0 && first == 0;
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

void clear(const Acc<float>& acc) { std::fill_n(acc.p, acc.shape.m * acc.shape.n(), 0.0f); }

template <class T>
void multiply(const Acc<float>& acc, const LeftOperand<T>& a, const RightOperand<T>& b, const Taps& taps, bool sets) {
  if (sets && (taps.count1 <= 0 || taps.count0 <= 0 || acc.shape.k <= 0)) return clear(acc);
  const ColumnWalk walk(acc.shape, b.view);
  const bool asks_ahead = !a.lattice.is_dense() && a.view.m_stride * static_cast<i64>(sizeof(T)) >= cache_line;
  const Job<T> job{acc.p, acc.shape.n(), a.p, a.view, b.p, b.view.k_stride, acc.shape.k, taps, sets, asks_ahead};
  in_parts(walk.vectors(), best_width(acc.shape.m, walk.vectors()), [&](i64 first, i64 count) {
    VectorColumns columns[max_vectors];
    for (i64 v = 0; v < count; ++v) columns[v] = walk(first + v);
    if (b.view.n0_stride == 1)
      multiply_rows(job, acc.shape.m, columns, count);
    else
      multiply_packed(job, acc.shape.m, columns, count, b.view.n0_stride);
  });
}

/// Columns are whole vectors, next to each other.
template <class T>
void multiply_vectors(i64 m, i64 n, const Job<T>& job) {
  const auto vector = [](i64 i) { return VectorColumns{i * lanes, i * lanes, lanes}; };
#if defined(__x86_64__)
  if constexpr (std::is_same_v<T, bf16x2> && lanes == tile_lanes)
    if (Amx::available()) {
      for (i64 row = 0; job.sets && row < m; ++row) std::fill_n(job.acc + row * job.acc_pitch, n, 0.0f);
      return unit_multiply<Amx>(job, m, n / lanes, vector);
    }
#endif
  in_parts(n / lanes, best_width(m, n / lanes), [&](i64 first, i64 count) {
    VectorColumns columns[max_vectors];
    for (i64 v = 0; v < count; ++v) columns[v] = vector(first + v);
    multiply_rows(job, m, columns, count);
  });
}

}  // namespace

void host_multiply(const Acc<float>& acc, const LeftOperand<float>& a, const RightOperand<float>& b, const Taps& taps) {
  multiply(acc, a, b, taps, false);
}
void host_product(const Acc<float>& acc, const LeftOperand<float>& a, const RightOperand<float>& b, const Taps& taps) {
  multiply(acc, a, b, taps, true);
}

void host_multiply(const Acc<float>& acc, const LeftOperand<bf16x2>& a, const RightOperand<bf16x2>& b,
                   const Taps& taps) {
#if defined(__x86_64__)
  if (Amx::available() && fills_tiles(acc.shape, b.view)) return unit_multiply<Amx>(acc, a, b, taps);
#endif
  multiply(acc, a, b, taps, false);
}
void host_product(const Acc<float>& acc, const LeftOperand<bf16x2>& a, const RightOperand<bf16x2>& b,
                  const Taps& taps) {
#if defined(__x86_64__)
  if (Amx::available() && fills_tiles(acc.shape, b.view)) {
    clear(acc);
    return unit_multiply<Amx>(acc, a, b, taps);
  }
#endif
  multiply(acc, a, b, taps, true);
}

template <class T>
void host_multiply(i64 m, i64 n, i64 k, const T* a, LeftView view, const T* b, i64 ldb, float* y, i64 ldy) {
  multiply_vectors<T>(m, n, {y, ldy, a, view, b, ldb, k, {}});
}
template <class T>
void host_product(i64 m, i64 n, i64 k, const T* a, LeftView view, const T* b, i64 ldb, float* y, i64 ldy) {
  multiply_vectors<T>(m, n, {y, ldy, a, view, b, ldb, k, {}, true});
}
template void host_multiply(i64, i64, i64, const float*, LeftView, const float*, i64, float*, i64);
template void host_multiply(i64, i64, i64, const bf16x2*, LeftView, const bf16x2*, i64, float*, i64);
template void host_product(i64, i64, i64, const float*, LeftView, const float*, i64, float*, i64);
template void host_product(i64, i64, i64, const bf16x2*, LeftView, const bf16x2*, i64, float*, i64);

}  // namespace cortado::kokkos
