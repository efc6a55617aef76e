#pragma once
#include <cmath>
#include <cstring>

#include "core/base/types.h"

/// Arithmetic for cluster programs: branch-free, so that vector loops stay vector loops on every backend, with the
/// same polynomials everywhere. Accuracies are stated in ulp of float and tested over the whole range.
namespace cortado::math {

/// a if `condition`, else b; both are evaluated. Overloaded for the values of a simulator, which is why programs
/// write this instead of ?: for choices that depend on data.
template <class T>
CORTADO_FN T select(bool condition, T a, T b) {
  return condition ? a : b;
}

/// The smaller and the larger of two values; a where they are equal or not comparable.
template <class T>
CORTADO_FN T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
CORTADO_FN T max(T a, T b) {
  return a < b ? b : a;
}

CORTADO_FN inline float sqrt(float x) { return std::sqrt(x); }
CORTADO_FN inline float abs(float x) { return std::fabs(x); }

namespace detail {
template <class To, class From>
CORTADO_FN To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

/// log of a positive, finite float, in double, relative error below 1e-11.
CORTADO_FN inline double wide_log(float x) {
  // x = 2^e m with m in [sqrt(1/2), sqrt(2)); the double of any positive float is normal.
  const auto bits = bits_as<std::uint64_t>(static_cast<double>(x));
  const std::uint64_t root_half = 0x3FE6A09E667F3BCDull;
  const auto e = static_cast<std::int32_t>(static_cast<std::int64_t>(bits - root_half) >> 52);
  const double f = bits_as<double>(bits - (static_cast<std::uint64_t>(static_cast<std::int64_t>(e)) << 52)) - 1.0;
  // log m = 2 atanh(s), |s| < 0.172
  const double s = f / (2.0 + f), q = s * s;
  double p = 2.0 / 15;
  p = p * q + 2.0 / 13;
  p = p * q + 2.0 / 11;
  p = p * q + 2.0 / 9;
  p = p * q + 2.0 / 7;
  p = p * q + 2.0 / 5;
  p = p * q + 2.0 / 3;
  p = p * q + 2.0;
  return e * 0.693147180559945309 + s * p;
}

/// exp in double for |x| < 700, relative error below 1e-11.
CORTADO_FN inline double wide_exp(double x) {
  const double magic = 6755399441055744.0;  // 1.5 2^52: adding it rounds to an integer, left in the low bits
  const double shifted = x * 1.44269504088896341 + magic;
  const double n = shifted - magic;
  const double r = x - n * 0.693147180559945309;  // |r| < 0.3466
  double p = 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  const std::uint64_t exponent = bits_as<std::uint64_t>(shifted) - bits_as<std::uint64_t>(magic) + 1023u;
  return p * bits_as<double>(exponent << 52);
}

CORTADO_FN inline float infinity() { return bits_as<float>(std::uint32_t{0x7F800000u}); }
CORTADO_FN inline float nan() { return bits_as<float>(std::uint32_t{0x7FC00000u}); }

}  // namespace detail

/// The bits of a float as a word, and back.
CORTADO_FN inline std::uint32_t bits_of(float x) { return detail::bits_as<std::uint32_t>(x); }
CORTADO_FN inline float float_of(std::uint32_t bits) { return detail::bits_as<float>(bits); }
/// The integer part of x in [0, 2^31).
CORTADO_FN inline std::uint32_t truncate(float x) { return static_cast<std::uint32_t>(static_cast<std::int32_t>(x)); }
/// A word below 2^31 as a number.
CORTADO_FN inline float as_float(std::uint32_t word) { return static_cast<float>(static_cast<std::int32_t>(word)); }

/// e^x within 2 ulp; inf above the largest float, gradual underflow to 0, NaN for NaN.
CORTADO_FN inline float exp(float x) {
  // Beyond these bounds the result is inf or 0; comparisons with NaN are false, so NaN passes.
  x = select(x > 89.0f, 89.0f, x);
  x = select(x < -105.0f, -105.0f, x);
  const float magic = 12582912.0f;  // 1.5 2^23: adding it rounds to an integer, left in the low bits
  const float shifted = x * 1.44269504f + magic;
  const float n = shifted - magic;
  // ln 2 in two parts; the first has few enough bits that n times it is exact.
  const float r = (x - n * 0.693145751953125f) - n * 1.42860682e-6f;  // |r| < 0.3466
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r * r + r + 1.0f;
  // 2^n in two factors, because n reaches 128 and -151.
  const auto k =
      static_cast<std::int32_t>(detail::bits_as<std::uint32_t>(shifted) - detail::bits_as<std::uint32_t>(magic));
  const std::int32_t half = k >> 1;
  const float scale1 = detail::bits_as<float>((static_cast<std::uint32_t>(half) + 127u) << 23);
  const float scale2 =
      detail::bits_as<float>((static_cast<std::uint32_t>(k) - static_cast<std::uint32_t>(half) + 127u) << 23);
  return p * scale1 * scale2;
}

/// Natural logarithm within 3 ulp; -inf for 0, NaN below 0 and for NaN, inf for inf.
CORTADO_FN inline float log(float x) {
  const bool tiny = x < 1.17549435e-38f;  // subnormal: scale by 2^24 first
  const float y = select(tiny, x * 16777216.0f, x);
  // y = 2^e m with m in [sqrt(1/2), sqrt(2))
  const auto bits = detail::bits_as<std::uint32_t>(y);
  const std::int32_t e = static_cast<std::int32_t>(bits - 0x3F3504F3u) >> 23;
  const float f = detail::bits_as<float>(bits - (static_cast<std::uint32_t>(e) << 23)) - 1.0f;
  const float n = static_cast<float>(e) - select(tiny, 24.0f, 0.0f);
  // log m = 2 atanh(s) = f - s f + s (2/3 s^2 + 2/5 s^4 + ...), |s| < 0.172
  const float s = f / (2.0f + f), q = s * s;
  float p = 2.0f / 11;
  p = p * q + 2.0f / 9;
  p = p * q + 2.0f / 7;
  p = p * q + 2.0f / 5;
  p = p * q + 2.0f / 3;
  const float tail = s * (p * q - f) + n * 1.42860682e-6f;
  const float value = n * 0.693145751953125f + (f + tail);
  // The order matters: infinities and NaN take the formula's place last.
  float result = select(x == 0.0f, -detail::infinity(), value);
  result = select(x < 0.0f, detail::nan(), result);
  return select(x < detail::infinity(), result, x);
}

/// cos(2 pi x) for x in [0, 1], absolute error below 5e-7.
CORTADO_FN inline float cos_of_turn(float x) {
  // cos(2 pi x) = -cos(2 a) = 1 - 2 cos(a)^2 with |a| <= pi / 2, where cos a is an even polynomial
  const float a = (x - 0.5f) * 3.14159265f, q = a * a;
  float p = -1.0f / 87178291200.0f;
  p = p * q + 1.0f / 479001600;
  p = p * q - 1.0f / 3628800;
  p = p * q + 1.0f / 40320;
  p = p * q - 1.0f / 720;
  p = p * q + 1.0f / 24;
  p = p * q - 0.5f;
  p = p * q + 1.0f;
  return 1.0f - 2.0f * p * p;
}

/// x^y within 1 ulp for finite y: as std::pow, negative x with an integer y included (x = 0 and x = inf too).
/// Works in double inside, so that a large y does not magnify the error of the logarithm.
CORTADO_FN inline float pow(float x, float y) {
  const float size = std::fabs(x);
  const bool regular = size > 0.0f && size < detail::infinity();
  double exponent = static_cast<double>(y) * detail::wide_log(select(regular, size, 1.0f));
  exponent = select(exponent > 200.0, 200.0, exponent);
  exponent = select(exponent < -200.0, -200.0, exponent);
  float value = static_cast<float>(detail::wide_exp(exponent));
  const bool grows = (size > 1.0f) == (y > 0.0f);  // for 0 and inf: whether the limit is inf
  value = select(regular, value, select(grows, detail::infinity(), 0.0f));
  const bool whole = std::floor(y) == y, odd = whole && std::floor(y * 0.5f) != y * 0.5f;
  value = select(x < 0.0f || (x == 0.0f && 1.0f / x < 0.0f), select(odd, -value, value), value);
  value = select(x < 0.0f && size < detail::infinity() && !whole, detail::nan(), value);
  value = select(x == x, value, x);
  return select(y == 0.0f, 1.0f, value);
}

}  // namespace cortado::math
