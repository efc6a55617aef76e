#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__SSE__)
#include <immintrin.h>
#elif __ARM_FEATURE_SVE_BITS >= 256
#include <arm_sve.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "core/base/bf16.h"

namespace cortado::kokkos {

#if defined(__AVX512F__)
constexpr int vector_lanes = 16, vector_registers = 32;
#elif defined(__AVX__)
constexpr int vector_lanes = 8, vector_registers = 16;
#elif __ARM_FEATURE_SVE_BITS >= 256
constexpr int vector_lanes = __ARM_FEATURE_SVE_BITS / 32, vector_registers = 32;
static_assert(vector_lanes <= 16, "HostTeam::slack and unrolled loops know no longer vectors: CORTADO_SVE_BITS=512");
#elif defined(__aarch64__)
constexpr int vector_lanes = 4, vector_registers = 32;
#else
constexpr int vector_lanes = 4, vector_registers = 16;
#endif

#if defined(__AVX512BF16__) || defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
constexpr bool has_bf16_vectors = true;
#else
constexpr bool has_bf16_vectors = false;
#endif

/// One vector register of this processor.
typedef float Vector __attribute__((vector_size(4 * vector_lanes)));
#if __ARM_FEATURE_SVE_BITS >= 256
/// The same, as the processor's own functions take and give it: SVE's vectors have no size without the attribute.
typedef svfloat32_t SveVector __attribute__((arm_sve_vector_bits(__ARM_FEATURE_SVE_BITS)));
typedef svuint32_t SveWords __attribute__((arm_sve_vector_bits(__ARM_FEATURE_SVE_BITS)));
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
typedef svbfloat16_t SvePairs __attribute__((arm_sve_vector_bits(__ARM_FEATURE_SVE_BITS)));
#endif
#endif

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

constexpr i64 cache_line = 64;

/// Stores a vector to where it is aligned, past the caches: a line that is written in full need not be read first.
template <class T>
void stream_vector(T* p, Vector v) {
  static_assert(sizeof(T) == sizeof(float), "a lane holds 32 bits");
#if defined(__AVX512F__)
  _mm512_stream_ps(reinterpret_cast<float*>(p), reinterpret_cast<__m512>(v));
#elif defined(__AVX__)
  _mm256_stream_ps(reinterpret_cast<float*>(p), reinterpret_cast<__m256>(v));
#elif defined(__SSE__)
  _mm_stream_ps(reinterpret_cast<float*>(p), reinterpret_cast<__m128>(v));
#elif __ARM_FEATURE_SVE_BITS >= 256
  svstnt1_f32(svptrue_b32(), reinterpret_cast<float*>(p), reinterpret_cast<SveVector>(v));
#else
  store_vector(p, v);
#endif
}
/// True if rows of `count` values, `pitch` apart, are whole lines, which can be streamed.
template <class T>
bool fills_lines(const T* to, i64 count, i64 pitch) {
  if constexpr (sizeof(T) != sizeof(float) || sizeof(Vector) != cache_line)
    return false;
  else
    return count % vector_lanes == 0 && pitch % vector_lanes == 0 &&
           reinterpret_cast<std::uintptr_t>(to) % cache_line == 0;
}
/// Rows of whole lines, past the caches.
template <class T>
void stream_rows(const T* from, i64 from_pitch, i64 rows, i64 cols, T* to, i64 to_pitch) {
  if constexpr (sizeof(T) == sizeof(float))
    for (i64 r = 0; r < rows; ++r)
      for (i64 c = 0; c < cols; c += vector_lanes)
        stream_vector(to + r * to_pitch + c, load_vector(from + r * from_pitch + c));
}
/// Makes streamed values visible to other threads once they have met this one.
inline void end_streams() {
#if defined(__SSE__)
  _mm_sfence();
#endif
}

typedef std::uint32_t Words __attribute__((vector_size(4 * vector_lanes)));
typedef std::uint16_t Halves __attribute__((vector_size(2 * vector_lanes)));

inline Words load_halves(const bf16* p) {
#if __ARM_FEATURE_SVE_BITS >= 256
  const SveWords words = svld1uh_u32(svptrue_b32(), &p->bits);
  return reinterpret_cast<Words>(words);
#elif defined(__aarch64__)  // GCC 12 widens NEON's vectors element by element
  return reinterpret_cast<Words>(vmovl_u16(vld1_u16(&p->bits)));
#else
  Halves halves;
  std::memcpy(&halves, p, sizeof halves);
  return __builtin_convertvector(halves, Words);
#endif
}
/// bf16 becomes float on its way into a register, and bf16 again on its way out.
inline Vector load_vector(const bf16* p) {
  const Words words = load_halves(p) << 16;
  return reinterpret_cast<Vector>(words);
}
/// Bits of bf16 in the lower halves of words whose upper ones are zero. ARM's instructions round as rounded_to_bf16.
inline Words rounded_words(Vector v) {
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC) && __ARM_FEATURE_SVE_BITS >= 256
  const SvePairs halves = svcvt_bf16_f32_x(svptrue_b32(), reinterpret_cast<SveVector>(v));
  return reinterpret_cast<Words>(halves);
#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
  return reinterpret_cast<Words>(vmovl_u16(vreinterpret_u16_bf16(vcvt_bf16_f32(v))));
#else
  return rounded_to_bf16(reinterpret_cast<Words>(v), v == v);
#endif
}
/// The same. (AVX-512's own rounding takes values too small for normal numbers as zeros.)
inline Halves rounded(Vector v) {
#if defined(__AVX512BF16__)
  return reinterpret_cast<Halves>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(v)));
#else
  return __builtin_convertvector(rounded_words(v), Halves);
#endif
}
inline void store_vector(bf16* p, Vector v) {
#if __ARM_FEATURE_SVE_BITS >= 256
  svst1h_u32(svptrue_b32(), &p->bits, reinterpret_cast<SveWords>(rounded_words(v)));
#else
  const Halves halves = rounded(v);
  std::memcpy(p, &halves, sizeof halves);
#endif
}
/// Lane i holds lanes i of both, rounded.
inline Vector paired(Vector first, Vector second) {
#if defined(__aarch64__)
  const Words words = rounded_words(first) | rounded_words(second) << 16;
#else
  const Words words = __builtin_convertvector(rounded(first), Words) | __builtin_convertvector(rounded(second), Words)
                                                                           << 16;
#endif
  return reinterpret_cast<Vector>(words);
}
/// Lane i holds elements i of both rows, of which `second` may be null: zeros.
inline Vector load_pairs(const bf16* first, const bf16* second) {
  const Words words = second ? load_halves(first) | load_halves(second) << 16 : load_halves(first);
  return reinterpret_cast<Vector>(words);
}

/// Elements of the lower (upper) halves of two vectors of `count` elements, alternating; `Indices`: as many integers of
/// the same size.
template <int first, int count, class Indices, class V, int... i>
V alternate(V a, V b, std::integer_sequence<int, i...>) {
#if defined(__clang__) || __GNUC__ >= 12
  return __builtin_shufflevector(a, b, (first + i / 2 + i % 2 * count)...);
#else
  return __builtin_shuffle(a, b, Indices{(first + i / 2 + i % 2 * count)...});
#endif
}

/// Two vectors of pairs: of elements i of both rows, which are two vectors' lanes long.
inline void store_pairs(bf16x2* to, const bf16* first, const bf16* second) {
  constexpr int count = 2 * vector_lanes;
  typedef std::uint16_t Shorts __attribute__((vector_size(2 * count)));
  constexpr auto all = std::make_integer_sequence<int, count>();
  Shorts a, b;
  std::memcpy(&a, first, sizeof a);
  std::memcpy(&b, second, sizeof b);
  store_vector(to, reinterpret_cast<Vector>(alternate<0, count, Shorts>(a, b, all)));
  store_vector(to + vector_lanes, reinterpret_cast<Vector>(alternate<count / 2, count, Shorts>(a, b, all)));
}

using Square = std::array<Vector, vector_lanes>;

/// Rows become columns: log2(lanes) rounds of perfect shuffles.
inline void transpose(Square& v) {
  constexpr auto all = std::make_integer_sequence<int, vector_lanes>();
  for (int round = 1; round < vector_lanes; round *= 2) {
    Square next;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < vector_lanes / 2; ++i) {
      next[2 * i] = alternate<0, vector_lanes, Words>(v[i], v[i + vector_lanes / 2], all);
      next[2 * i + 1] = alternate<vector_lanes / 2, vector_lanes, Words>(v[i], v[i + vector_lanes / 2], all);
    }
    v = next;
  }
}

/// to[c to_pitch + r] = element (r, c) for r < rows, c < cols, given by `one(r, c)`, or as a vector of columns c and up
/// by `many(r, c)`, which may lie beyond the last column. Vectors go to memory by `store`.
template <class To, class One, class Many, class Store>
void transpose(i64 rows, i64 cols, To* to, i64 to_pitch, One one, Many many, Store store) {
  constexpr i64 n = vector_lanes;
  if (rows < n) {
    for (i64 c = 0; c < cols; ++c)
      for (i64 r = 0; r < rows; ++r) to[c * to_pitch + r] = one(r, c);
    return;
  }
  // The last squares overlap their neighbours; where there are fewer columns than lanes, the rest is not stored.
  for (i64 r0 = 0; r0 < rows; r0 += n)
    for (i64 c0 = 0; c0 < cols; c0 += n) {
      const i64 r = r0 + n <= rows ? r0 : rows - n, c = c0 + n <= cols || cols < n ? c0 : cols - n;
      Square square;
#pragma GCC unroll 16
      for (i64 i = 0; i < n; ++i) square[static_cast<std::size_t>(i)] = many(r + i, c);
      transpose(square);
      To* const out = to + c * to_pitch + r;
      if (cols < n) {
        for (i64 i = 0; i < cols; ++i) store(out + i * to_pitch, square[static_cast<std::size_t>(i)]);
        continue;
      }
#pragma GCC unroll 16
      for (i64 i = 0; i < n; ++i) store(out + i * to_pitch, square[static_cast<std::size_t>(i)]);
    }
}

template <class To, class One, class Many>
void transpose(i64 rows, i64 cols, To* to, i64 to_pitch, One one, Many many) {
  transpose(rows, cols, to, to_pitch, one, many, [](To* p, Vector v) { store_vector(p, v); });
}

/// to[c to_pitch + r] = from[r from_pitch + c] for r < rows, c < cols. May read one vector past the last element.
template <class From, class To, class Store>
void transpose(const From* from, i64 from_pitch, i64 rows, i64 cols, To* to, i64 to_pitch, Store store) {
  transpose(
      rows, cols, to, to_pitch, [&](i64 r, i64 c) { return To(from[r * from_pitch + c]); },
      [&](i64 r, i64 c) { return load_vector(from + r * from_pitch + c); }, store);
}
template <class From, class To>
void transpose(const From* from, i64 from_pitch, i64 rows, i64 cols, To* to, i64 to_pitch) {
  transpose(from, from_pitch, rows, cols, to, to_pitch, [](To* p, Vector v) { store_vector(p, v); });
}

}  // namespace cortado::kokkos
