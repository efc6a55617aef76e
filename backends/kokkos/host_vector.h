#pragma once
#include <array>
#include <cstring>
#include <utility>

#include "core/base/types.h"

namespace cortado::kokkos {

#if defined(__AVX512F__)
constexpr int vector_lanes = 16, vector_registers = 32;
#elif defined(__AVX__)
constexpr int vector_lanes = 8, vector_registers = 16;
#else
constexpr int vector_lanes = 4, vector_registers = 16;
#endif

/// One vector register of this processor.
typedef float Vector __attribute__((vector_size(4 * vector_lanes)));

template <class T>
Vector load_vector(const T* p) {
  static_assert(sizeof(T) == sizeof(float), "a lane holds 32 bits");
  Vector v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
void store_vector(T* p, Vector v) {
  static_assert(sizeof(T) == sizeof(float), "a lane holds 32 bits");
  std::memcpy(p, &v, sizeof v);
}

using Square = std::array<Vector, vector_lanes>;

/// Lane i of the lower (upper) halves of two vectors, alternating.
template <int first, int... i>
Vector alternate(Vector a, Vector b, std::integer_sequence<int, i...>) {
#if defined(__clang__) || __GNUC__ >= 12
  return __builtin_shufflevector(a, b, (first + i / 2 + i % 2 * vector_lanes)...);
#else
  typedef int Lanes __attribute__((vector_size(sizeof(Vector))));
  return __builtin_shuffle(a, b, Lanes{(first + i / 2 + i % 2 * vector_lanes)...});
#endif
}

/// Rows become columns: log2(lanes) rounds of perfect shuffles.
inline void transpose(Square& v) {
  constexpr auto all = std::make_integer_sequence<int, vector_lanes>();
  for (int round = 1; round < vector_lanes; round *= 2) {
    Square next;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < vector_lanes / 2; ++i) {
      next[2 * i] = alternate<0>(v[i], v[i + vector_lanes / 2], all);
      next[2 * i + 1] = alternate<vector_lanes / 2>(v[i], v[i + vector_lanes / 2], all);
    }
    v = next;
  }
}

/// to[c to_pitch + r] = from[r from_pitch + c] for r < rows, c < cols. May read one vector past the last element.
template <class T>
void transpose(const T* from, i64 from_pitch, i64 rows, i64 cols, T* to, i64 to_pitch) {
  constexpr i64 n = vector_lanes;
  if (rows < n) {
    for (i64 c = 0; c < cols; ++c)
      for (i64 r = 0; r < rows; ++r) to[c * to_pitch + r] = from[r * from_pitch + c];
    return;
  }
  // The last squares overlap their neighbours; where there are fewer columns than lanes, the rest is not stored.
  for (i64 r0 = 0; r0 < rows; r0 += n)
    for (i64 c0 = 0; c0 < cols; c0 += n) {
      const i64 r = r0 + n <= rows ? r0 : rows - n, c = c0 + n <= cols || cols < n ? c0 : cols - n;
      Square square;
#pragma GCC unroll 16
      for (i64 i = 0; i < n; ++i) square[static_cast<std::size_t>(i)] = load_vector(from + (r + i) * from_pitch + c);
      transpose(square);
      T* const out = to + c * to_pitch + r;
      if (cols < n) {
        for (i64 i = 0; i < cols; ++i) store_vector(out + i * to_pitch, square[static_cast<std::size_t>(i)]);
        continue;
      }
#pragma GCC unroll 16
      for (i64 i = 0; i < n; ++i) store_vector(out + i * to_pitch, square[static_cast<std::size_t>(i)]);
    }
}

}  // namespace cortado::kokkos
