#include "backends/kokkos/thin_product.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "backends/kokkos/host_multiply.h"
#include "backends/kokkos/host_vector.h"
#include "core/machine/integers.h"
#include "core/machine/program.h"

namespace cortado::kokkos {
namespace {

using Gemm = MatrixLibrary::Gemm;

constexpr i64 thin = 64;                   ///< rows; beyond, multiply-adds take longer than the long matrix
constexpr i64 long_matrix = i64{1} << 20;  ///< elements: more than second-level caches hold
constexpr i64 line_floats = cache_line / sizeof(float);

/// Terms that an element of an operand holds: float or bf16x2.
template <class T>
constexpr i64 terms_of = std::is_same_v<T, bf16x2> ? 2 : 1;

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
    for (i64 j = 0; j < columns; j += line_floats) __builtin_prefetch(p + i * pitch + j, 0, 2);
}

/// A copy of a part of an operand whose terms lie along its rows, `most_rows` rows of `width` terms at most. Rows that
/// are far apart in memory may meet in few sets of a cache; these do not.
template <class T, i64 most_rows, i64 most_terms>
class Packed {
 public:
  static constexpr i64 width = most_terms, pitch = width / terms_of<T> + vector_lanes;

  void take(const float* from, i64 rows, i64 from_pitch, i64 count) {
    for (i64 i = 0; i < rows; ++i) take_row(from + i * from_pitch, values_ + i * pitch, count);
  }
  const T* row(i64 i) const { return values_ + i * pitch; }

 private:
  static void take_row(const float* from, float* to, i64 count) { std::copy_n(from, count, to); }
  static void take_row(const float* from, bf16x2* to, i64 count) {
    i64 k = 0;
    for (; k + vector_lanes <= count; k += vector_lanes) store_vector(&to[k / 2].first, load_vector(from + k));
    for (; k < count; k += 2) to[k / 2] = {from[k], k + 1 < count ? from[k + 1] : 0.0f};
  }

  alignas(64) T values_[most_rows * pitch];
};

/// A copy of a part of an operand whose rows are terms, `most_terms` of them of `width` columns at most.
template <class T, i64 most_terms, i64 most_columns>
class Stacked {
 public:
  static constexpr i64 width = most_columns, pitch = width + vector_lanes;

  void take(const float* from, i64 terms, i64 from_pitch, i64 count) {
    constexpr i64 n = terms_of<T>;
    for (i64 k = 0; k < terms; k += n)
      take_row(from + k * from_pitch, k + 1 < terms ? from + (k + 1) * from_pitch : nullptr, values_ + k / n * pitch,
               count);
  }
  const T* row(i64 term) const { return values_ + term / terms_of<T> * pitch; }

 private:
  static void take_row(const float* from, const float* /*second*/, float* to, i64 count) {
    std::copy_n(from, count, to);
  }
  static void take_row(const float* first, const float* second, bf16x2* to, i64 count) {
    i64 j = 0;
    for (; j + vector_lanes <= count; j += vector_lanes)
      store_vector(to + j, paired(load_vector(first + j), second ? load_vector(second + j) : Vector{}));
    for (; j < count; ++j) to[j] = {first[j], second ? second[j] : 0.0f};
  }

  alignas(64) T values_[most_terms / terms_of<T> * pitch];
};

/// The transpose of a part of the short operand, whose terms lie along its rows: `width` columns, whole vectors of
/// them, of which those beyond the operand's rows are zero.
template <class T>
class Turned {
 public:
  static constexpr i64 terms = 1024 * terms_of<T>;

  explicit Turned(i64 rows) : width(round_up(rows, i64{vector_lanes})) {}
  void take(const float* from, i64 rows, i64 from_pitch, i64 count) {
    for (i64 k = 0; k < count; k += piece_.width) {
      const i64 here = std::min(piece_.width, count - k);
      piece_.take(from + k, rows, from_pitch, here);
      transpose(piece_.row(0), piece_.pitch, rows, ceil_div(here, terms_of<T>), values_ + k / terms_of<T> * width,
                width);
    }
  }
  const T* row(i64 term) const { return values_ + term / terms_of<T> * width; }
  const i64 width;

 private:
  Packed<T, thin, 128> piece_;
  alignas(64) T values_[terms / terms_of<T> * thin] = {};
};

/// y (m x n) += a (m x k) times the transpose of b (n x k), b being long. A piece of the terms of a lies in the
/// second-level cache; some rows of b at a time pass through the first-level one, while the next come.
void multiply_by_dots(const Gemm& g, const Range& range) {
  Packed<float, vector_lanes / 2, 1024> a;
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
template <class T>
void multiply_by_columns(const Gemm& g, const Range& range) {
  constexpr i64 block_rows = vector_registers / 2 - 2;  // as many rows as two vectors' sums leave room for
  constexpr i64 terms = 128 * terms_of<T>;
  Turned<T> a(g.m);
  Packed<T, block_rows, terms> b;
  alignas(64) float sums[block_rows * thin];
  for (i64 k0 = 0; k0 < g.k; k0 += a.terms) {
    const i64 end = std::min(g.k, k0 + a.terms);
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
        host_multiply(rows, a.width, ceil_div(count, terms_of<T>), b.row(0), {b.pitch, 1}, a.row(k - k0), a.width, sums,
                      a.width);
      }
      for (i64 i = 0; i < g.m; ++i)
        for (i64 r = 0; r < rows; ++r) g.y[i * g.ldy + j + r] += sums[r * a.width + i];
    }
  }
}

/// y (m x n) += a (m x k) b (k x n), b being long: columns of some rows of b at a time.
template <class T>
void multiply_by_rows(const Gemm& g, const Range& range) {
  constexpr i64 rows = 64 * terms_of<T>, columns = 2 * vector_lanes, ahead = 2 * columns;
  Packed<T, thin, rows> a;
  for (i64 k0 = 0; k0 < g.k; k0 += rows) {
    const i64 count = std::min(rows, g.k - k0);
    a.take(g.a + k0, g.m, g.lda, count);
    for (i64 j = range.first; j < range.end; j += columns) {
      const float* const b = g.b + k0 * g.ldb + j;
      const i64 width = std::min(columns, range.end - j);
      fetch_ahead(b + ahead, count, std::clamp<i64>(range.end - j - ahead, 0, columns), g.ldb);
      if constexpr (std::is_same_v<T, float>) {
        host_multiply(g.m, width, count, a.row(0), {a.pitch, 1}, b, g.ldb, g.y + j, g.ldy);
      } else {
        Stacked<T, rows, columns> pairs;
        pairs.take(b, count, g.ldb, width);
        host_multiply(g.m, width, ceil_div(count, terms_of<T>), a.row(0), {a.pitch, 1}, pairs.row(0), pairs.pitch,
                      g.y + j, g.ldy);
      }
    }
  }
}

/// y (m x n) = or += the transpose of a (k x m) times b (k x n), y being long: some of its rows at a time, as far as
/// the columns of b go that lie in the second-level cache.
template <class T>
void multiply_outer(const Gemm& g, const Range& range) {
  constexpr i64 rows = 6, columns = 4 * vector_lanes, ahead = 4 * columns, most_terms = thin * terms_of<T>;
  Stacked<T, most_terms, 16 * rows> a;
  Stacked<T, most_terms, 1024> b;
  alignas(64) float sums[rows * columns];
  const i64 terms = ceil_div(g.k, terms_of<T>);
  const auto multiply_block = [&](i64 i, i64 count, const T* from_a, i64 j, i64 width, const T* from_b, i64 left) {
    float* const y = g.y + i * g.ldy + j;
    if (g.beta != 0) {
      fetch_ahead(y + ahead, count, std::clamp<i64>(left - ahead, 0, columns), g.ldy);
      return host_multiply(count, width, terms, from_a, {1, a.pitch}, from_b, b.pitch, y, g.ldy);
    }
    host_product(count, width, terms, from_a, {1, a.pitch}, from_b, b.pitch, sums, columns);
    if (fills_lines(y, width, g.ldy)) return stream_rows(sums, columns, count, width, y, g.ldy);
    for (i64 r = 0; r < count; ++r) std::copy_n(sums + r * columns, width, y + r * g.ldy);
  };
  for (i64 j0 = 0; j0 < g.n; j0 += b.width) {
    const i64 end = std::min(g.n, j0 + b.width);
    b.take(g.b + j0, g.k, g.ldb, end - j0);
    for (i64 i0 = range.first; i0 < range.end; i0 += a.width) {
      const i64 end_i = std::min(range.end, i0 + a.width);
      a.take(g.a + i0, g.k, g.lda, end_i - i0);
      for (i64 i = i0; i < end_i; i += rows)
        for (i64 j = j0; j < end; j += columns)
          multiply_block(i, std::min(rows, end_i - i), a.row(0) + (i - i0), j, std::min(columns, end - j),
                         b.row(0) + (j - j0), end - j);
    }
  }
}

template <class T>
void multiply_part(const Gemm& g, const Range& range) {
  if (g.transpose_a) {
    multiply_outer<T>(g, range);
    return end_streams();
  }
  if (g.beta == 0)
    for (i64 i = 0; i < g.m; ++i) std::fill(g.y + i * g.ldy + range.first, g.y + i * g.ldy + range.end, 0.0f);
  if (g.transpose_b && 2 * g.m <= vector_lanes)
    multiply_by_dots(g, range);
  else if (g.transpose_b)
    multiply_by_columns<T>(g, range);
  else
    multiply_by_rows<T>(g, range);
}

/// The dimension that is to be small.
i64 thickness(const Gemm& g) { return g.transpose_a ? g.k : g.m; }

/// True if pairs of bf16 make it faster. They do not where the bytes of the long matrix alone take longer.
bool takes_pairs(const Gemm& g) {
  return has_bf16_vectors && g.operands == Precision::bf16 && 2 * thickness(g) > vector_lanes;
}

/// A product that is too thick for one pass over the long matrix, in as many as it takes.
void multiply_pairs(const Gemm& g, const Range& range) {
  const i64 all = thickness(g), most = g.transpose_a ? thin * terms_of<bf16x2> : thin;
  for (i64 first = 0; first < all; first += most) {
    Gemm part = g;
    const i64 count = std::min(most, all - first);
    part.a += first * g.lda;
    if (g.transpose_a) {
      part.k = count;
      part.b += first * g.ldb;
      if (first > 0) part.beta = 1;
    } else {
      part.m = count;
      part.y += first * g.ldy;
    }
    multiply_part<bf16x2>(part, range);
  }
}

}  // namespace

bool is_thin(const Gemm& g) {
  if (g.alpha != 1 || (g.beta != 0 && g.beta != 1) || g.k == 0) return false;
  if (thickness(g) > thin && !takes_pairs(g)) return false;
  if (g.transpose_a) return !g.transpose_b && g.m * g.n >= long_matrix && g.n % vector_lanes == 0;
  return g.n * g.k >= long_matrix && (g.transpose_b || g.n % vector_lanes == 0);
}

void multiply_thin(const Gemm& g, int worker, int workers) {
  const Range range = range_of(g.transpose_a ? g.m : g.n, vector_lanes, worker, workers);
  if (takes_pairs(g))
    multiply_pairs(g, range);
  else
    multiply_part<float>(g, range);
}

}  // namespace cortado::kokkos
