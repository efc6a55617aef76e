#pragma once
#include <cstring>

#include "core/base/types.h"

namespace cortado {

/// The bits of bf16 in the lower halves of words, for floats of the bits `words`: rounded to nearest, ties to even. The
/// one definition: for a number, for the numbers of a vector register, and for a simulator's counted numbers.
/// is_number: false where the float is NaN. That stays NaN, quiet, with its sign and upper bits, as processors' own
/// instructions leave it.
template <class Words, class Condition>
CORTADO_FN constexpr Words rounded_to_bf16(Words words, Condition is_number) {
  const Words upper = words >> 16, rounded = (words + (0x7FFFu + (upper & 1u))) >> 16, quiet = upper | 0x40u;
  return is_number ? rounded : quiet;
}

/// The upper half of a float: its sign, its exponent, 7 bits of its mantissa. Memory holds it so; arithmetic is float.
struct bf16 {
  std::uint16_t bits;

  bf16() = default;
  /// Rounds to nearest, ties to even; NaN stays NaN.
  CORTADO_FN bf16(float value) {  // NOLINT(google-explicit-constructor): programs are written for numbers of any kind
    std::uint32_t word;
    memcpy(&word, &value, sizeof word);
    bits = static_cast<std::uint16_t>(rounded_to_bf16(word, value == value));
  }
  CORTADO_FN operator float() const {  // NOLINT(google-explicit-constructor)
    const std::uint32_t word = static_cast<std::uint32_t>(bits) << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
  }
};

/// Two neighbours along the sum of a product. Multipliers of bf16 take both at a time.
struct alignas(4) bf16x2 {
  bf16 first, second;
};

/// The type in which programs compute where T is stored.
template <class T>
struct LaneOf {
  using type = T;
};
template <>
struct LaneOf<bf16> {
  using type = float;
};
template <class T>
using Lane = typename LaneOf<T>::type;

/// The type of a blob's stored values.
enum class Precision { fp32, bf16 };

inline const char* to_string(Precision precision) { return precision == Precision::bf16 ? "bf16" : "fp32"; }
inline i64 bytes_of(Precision precision) { return precision == Precision::bf16 ? 2 : 4; }

/// Calls f with a value of the type that is stored.
template <class F>
void with_element(Precision precision, F f) {
  if (precision == Precision::bf16)
    f(bf16());
  else
    f(float());
}

}  // namespace cortado
