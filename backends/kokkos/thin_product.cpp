#include "backends/kokkos/thin_product.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backends/kokkos/host_multiply.h"
#include "backends/kokkos/host_vector.h"
#include "core/machine/parts.h"
#include "core/machine/program.h"

namespace cortado::kokkos {
namespace {

using Gemm = MatrixLibrary::Gemm;

constexpr i64 thin = 64;                        ///< beyond, multiply-adds take longer than the long matrix
constexpr i64 long_matrix = i64{1} << 20;       ///< elements: more than second-level caches hold
constexpr i64 cache_line = 64 / sizeof(float);  ///< elements

/// Whole units, so that no two workers meet in a vector.
Range range_of(i64 n, i64 unit, int worker, int workers) {
  const i64 units = ceil_div(n, unit);
  return {std::min(n, units * worker / workers * unit), std::min(n, units * (worker + 1) / workers * unit)};
}

/// Rows of a and b whose dot products a block keeps in registers: as many sums as a vector has lanes, so that one
/// transposition adds up the lanes of all.
constexpr i64 block_b = 4, block_a = vector_lanes / block_b;

/// Some rows of terms of a or b: of row i those from p + i pitch on.
struct Rows {
  const float* p;
  i64 pitch, count;
  const float* operator[](i64 i) const { return p + std::min(i, count - 1) * pitch; }
};

/// Terms [k, k + vector_lanes) of a block's rows, of which only `count` count.
inline void add_terms(Square& sums, const float* const* a, const float* const* b, i64 k, i64 count) {
  const auto load = [k, count](const float* row) {
    if (count >= vector_lanes) return load_vector(row + k);
    Vector rest{};
    std::memcpy(&rest, row + k, static_cast<std::size_t>(count) * sizeof(float));
    return rest;
  };
  const Vector b0 = load(b[0]), b1 = load(b[1]), b2 = load(b[2]), b3 = load(b[3]);
#pragma GCC unroll 4
  for (std::size_t i = 0; i < block_a; ++i) {
    const Vector of_a = load(a[i]);
    sums[4 * i] += of_a * b0;
    sums[4 * i + 1] += of_a * b1;
    sums[4 * i + 2] += of_a * b2;
    sums[4 * i + 3] += of_a * b3;
  }
}

/// y (ldy apart) += the dot products of `terms` terms of a block's rows of a and of b.
void add_dots(const Rows& of_a, const Rows& of_b, i64 terms, float* y, i64 ldy) {
  const float *a[block_a], *b[block_b];
  for (i64 i = 0; i < block_a; ++i) a[i] = of_a[i];
  for (i64 j = 0; j < block_b; ++j) b[j] = of_b[j];
  Square sums{};
  i64 k = 0;
  for (; k + vector_lanes <= terms; k += vector_lanes) add_terms(sums, a, b, k, vector_lanes);
  if (k < terms) add_terms(sums, a, b, k, terms - k);
  transpose(sums);
  Vector total = sums[0];
  for (std::size_t i = 1; i < sums.size(); ++i) total += sums[i];
  for (i64 i = 0; i < std::min(block_a, of_a.count); ++i)
    for (i64 j = 0; j < std::min(block_b, of_b.count); ++j) y[i * ldy + j] += total[i * block_b + j];
}

/// Asks for rows x columns elements.
void fetch_ahead(const float* p, i64 rows, i64 columns, i64 pitch) {
  for (i64 i = 0; i < rows; ++i)
    for (i64 j = 0; j < columns; j += cache_line) __builtin_prefetch(p + i * pitch + j, 0, 2);
}

/// A copy of a part of an operand, `most_rows` rows of `width` elements at most. Rows that are far apart in memory may
/// meet in few sets of a cache; these do not.
template <i64 most_rows, i64 most_columns>
class Packed {
 public:
  static constexpr i64 width = most_columns, pitch = width + vector_lanes;

  void take(const float* from, i64 rows, i64 from_pitch, i64 count) {
    for (i64 i = 0; i < rows; ++i) std::copy_n(from + i * from_pitch, count, values_ + i * pitch);
  }
  const float* row(i64 i) const { return values_ + i * pitch; }

 private:
  alignas(64) float values_[most_rows * pitch];
};

/// The transpose of a part of the short operand: `width` columns, whole vectors of them, of which those beyond the
/// operand's rows are zero.
class Turned {
 public:
  static constexpr i64 terms = 1024;

  explicit Turned(i64 rows) : width(round_up(rows, i64{vector_lanes})) {}
  void take(const float* from, i64 rows, i64 from_pitch, i64 count) {
    for (i64 i = 0; i < rows; ++i)
      for (i64 k = 0; k < count; ++k) values_[k * width + i] = from[i * from_pitch + k];
  }
  const float* row(i64 k) const { return values_ + k * width; }
  const i64 width;

 private:
  alignas(64) float values_[terms * thin] = {};
};

/// y (m x n) += a (m x k) times the transpose of b (n x k), b being long. A piece of the terms of a lies in the
/// second-level cache; some rows of b at a time pass through the first-level one, while the next come.
void multiply_by_dots(const Gemm& g, const Range& range) {
  Packed<vector_lanes / 2, 1024> a;
  const i64 blocks = ceil_div(g.m, block_a);
  for (i64 k0 = 0; k0 < g.k; k0 += a.width) {
    const i64 terms = std::min(a.width, g.k - k0);
    a.take(g.a + k0, g.m, g.lda, terms);
    for (i64 j = range.first; j < range.end; j += block_b) {
      const float* const b = g.b + j * g.ldb + k0;
      const i64 rows = std::min(block_b, range.end - j), ahead = std::min(block_b, range.end - j - rows);
      for (i64 block = 0; block < blocks; ++block) {
        const i64 i = block * block_a;
        const i64 first = terms * block / blocks, end = terms * (block + 1) / blocks;
        fetch_ahead(b + rows * g.ldb + first, ahead, end - first, g.ldb);
        add_dots({a.row(i), a.pitch, g.m - i}, {b, g.ldb, rows}, terms, g.y + i * g.ldy + j, g.ldy);
      }
    }
  }
}

/// y (m x n) += a (m x k) times the transpose of b (n x k), b being long: the transpose of y is b times that of a,
/// whose rows are whole vectors. Some terms of some rows of b at a time are copied while the next come.
void multiply_by_columns(const Gemm& g, const Range& range) {
  constexpr i64 block_rows = vector_registers / 2 - 2, terms = 128;  // as many rows as two vectors' sums leave room for
  Turned a(g.m);
  Packed<block_rows, terms> b;
  alignas(64) float sums[block_rows * thin];
  for (i64 k0 = 0; k0 < g.k; k0 += Turned::terms) {
    const i64 end = std::min(g.k, k0 + Turned::terms);
    a.take(g.a + k0, g.m, g.lda, end - k0);
    for (i64 j = range.first; j < range.end; j += block_rows) {
      const i64 rows = std::min(block_rows, range.end - j);
      std::fill_n(sums, rows * a.width, 0.0f);
      for (i64 k = k0; k < end; k += terms) {
        const float* const from = g.b + j * g.ldb + k;
        const i64 count = std::min(terms, end - k);
        b.take(from, rows, g.ldb, count);
        const bool goes_on = k + terms < end;  // with the same rows
        const i64 next_k = goes_on ? k + terms : k0, next_j = goes_on ? j : j + rows;
        fetch_ahead(g.b + next_j * g.ldb + next_k, std::min(block_rows, range.end - next_j),
                    std::min(terms, end - next_k), g.ldb);
        host_multiply(rows, a.width, count, b.row(0), {b.pitch, 1}, a.row(k - k0), a.width, sums, a.width);
      }
      for (i64 i = 0; i < g.m; ++i)
        for (i64 r = 0; r < rows; ++r) g.y[i * g.ldy + j + r] += sums[r * a.width + i];
    }
  }
}

/// y (m x n) += a (m x k) b (k x n), b being long: columns of some rows of b at a time.
void multiply_by_rows(const Gemm& g, const Range& range) {
  constexpr i64 rows = 64, columns = 2 * vector_lanes, ahead = 2 * columns;
  Packed<thin, rows> a;
  for (i64 k0 = 0; k0 < g.k; k0 += rows) {
    const i64 count = std::min(rows, g.k - k0);
    a.take(g.a + k0, g.m, g.lda, count);
    for (i64 j = range.first; j < range.end; j += columns) {
      const float* const b = g.b + k0 * g.ldb + j;
      fetch_ahead(b + ahead, count, std::clamp<i64>(range.end - j - ahead, 0, columns), g.ldb);
      host_multiply(g.m, std::min(columns, range.end - j), count, a.row(0), {a.pitch, 1}, b, g.ldb, g.y + j, g.ldy);
    }
  }
}

/// Writes rows of whole vectors to a long y, past the caches where they are whole lines.
void write_rows(const float* sums, i64 pitch, i64 rows, i64 columns, float* y, i64 ldy) {
  const bool streams = vector_lanes == cache_line && ldy % cache_line == 0 &&
                       reinterpret_cast<std::uintptr_t>(y) % (cache_line * sizeof(float)) == 0;
  for (i64 r = 0; r < rows; ++r)
    for (i64 j = 0; j < columns; j += vector_lanes) {
      const Vector v = load_vector(sums + r * pitch + j);
      if (streams)
        stream_vector(y + r * ldy + j, v);
      else
        store_vector(y + r * ldy + j, v);
    }
}

/// y (m x n) = or += the transpose of a (k x m) times b (k x n), y being long: some of its rows at a time, as far as
/// the columns of b go that lie in the second-level cache.
void multiply_outer(const Gemm& g, const Range& range) {
  constexpr i64 rows = 6, columns = 4 * vector_lanes, ahead = 4 * columns;
  Packed<thin, 1024> b;
  alignas(64) float sums[rows * columns];
  for (i64 j0 = 0; j0 < g.n; j0 += b.width) {
    const i64 end = std::min(g.n, j0 + b.width);
    b.take(g.b + j0, g.k, g.ldb, end - j0);
    for (i64 i = range.first; i < range.end; i += rows) {
      const i64 count = std::min(rows, range.end - i);
      for (i64 j = j0; j < end; j += columns) {
        float* const y = g.y + i * g.ldy + j;
        const float *const from_a = g.a + i, *const from_b = b.row(0) + (j - j0);
        const i64 width = std::min(columns, end - j);
        if (g.beta == 0) {
          host_product(count, width, g.k, from_a, {1, g.lda}, from_b, b.pitch, sums, columns);
          write_rows(sums, columns, count, width, y, g.ldy);
        } else {
          fetch_ahead(y + ahead, count, std::clamp<i64>(end - j - ahead, 0, columns), g.ldy);
          host_multiply(count, width, g.k, from_a, {1, g.lda}, from_b, b.pitch, y, g.ldy);
        }
      }
    }
  }
}

}  // namespace

bool is_thin(const Gemm& g) {
  if (g.alpha != 1 || (g.beta != 0 && g.beta != 1) || g.k == 0) return false;
  if (g.transpose_a) return !g.transpose_b && g.k <= thin && g.m * g.n >= long_matrix && g.n % vector_lanes == 0;
  return g.m <= thin && g.n * g.k >= long_matrix && (g.transpose_b || g.n % vector_lanes == 0);
}

void multiply_thin(const Gemm& g, int worker, int workers) {
  const Range range = range_of(g.transpose_a ? g.m : g.n, vector_lanes, worker, workers);
  if (g.transpose_a) {
    multiply_outer(g, range);
    return end_streams();
  }
  if (g.beta == 0)
    for (i64 i = 0; i < g.m; ++i) std::fill(g.y + i * g.ldy + range.first, g.y + i * g.ldy + range.end, 0.0f);
  if (g.transpose_b && 2 * g.m <= vector_lanes)
    multiply_by_dots(g, range);
  else if (g.transpose_b)
    multiply_by_columns(g, range);
  else
    multiply_by_rows(g, range);
}

}  // namespace cortado::kokkos
