#pragma once
#include <cstring>

#include "core/base/types.h"

namespace cortado {

/// The upper half of a float: its sign, its exponent, 7 bits of its mantissa. Memory holds it so; arithmetic is float.
struct bf16 {
  std::uint16_t bits;

  bf16() = default;
  /// Rounds to nearest, ties to even; NaN stays NaN.
  CORTADO_FN bf16(float value) {  // NOLINT(google-explicit-constructor): programs are written for numbers of any kind
    std::uint32_t word;
    memcpy(&word, &value, sizeof word);
    const std::uint32_t rounded = (word + 0x7FFFu + ((word >> 16) & 1u)) >> 16;
    bits = static_cast<std::uint16_t>(value == value ? rounded : 0x7FC0u);
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
