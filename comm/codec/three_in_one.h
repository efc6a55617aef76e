#pragma once
#include "comm/codec/format.h"

namespace cortado::codec {

/// Three weights in a word (ScaleDNN section IV-C, figure 8):
///
///   bit 31     the base, the upper four exponent bits of all three:
///              1 is 0111, values below 2 in size; 0 is 0110, values below 2^-15
///   bits 29-0  three times: sign, the lower four exponent bits, five bits of mantissa
///
/// The least error decides what the paper leaves open. A group gets the larger base if any of its values needs it.
/// Values are rounded to nearest, not truncated. Sizes beyond the base become its largest. The smallest size of a base
/// stands for zero.
struct ThreeInOne : NoScales {
  static constexpr const char* name = "three_in_one";
  static constexpr int words = 256, per_word = 3;

  template <class Value, class S>
  CORTADO_FN static auto pack(Value value, S) {
    const auto a = math::abs(value(0)), b = math::abs(value(1)), d = math::abs(value(2));
    const bool large = math::max(a, math::max(b, d)) >= limit_of_small;
    const auto base = math::select(large, 0x38000000u, 0x30000000u);
    const float half_least = 0.5f * math::float_of(base + 0x40000u);  // of the smallest that is not zero
    const auto one = [&](auto x, auto size) {
      // In units of the last kept bit: the exponent's lower four bits and the mantissa's upper five.
      const auto u = math::bits_of(size) + 0x20000u;  // half a unit
      const auto inside = math::select(u < base, 0u, (u - base) >> 18);
      const auto least = math::select(inside == 0u, math::select(size > half_least, 1u, 0u), inside);
      return math::select(least > 0x1FFu, 0x1FFu, least) | ((math::bits_of(x) >> 22) & 0x200u);
    };
    return one(value(0), a) | (one(value(1), b) << 10) | (one(value(2), d) << 20) |
           math::select(large, 0x80000000u, 0u);
  }
  template <class Word, class S>
  CORTADO_FN static auto unpack(Word word, i64 r, S) {
    const auto code = (word >> static_cast<int>(10 * r)) & 0x3FFu;
    const auto base = math::select((word >> 31) != 0u, 0x38000000u, 0x30000000u);
    const auto size = math::select((code & 0x1FFu) == 0u, 0u, base + ((code & 0x1FFu) << 18));
    return math::float_of(size | ((code & 0x200u) << 22));
  }

 private:
  /// 2^-15 (1 + 1/128): halfway between the small base's largest value and what the large base has above it.
  static constexpr float limit_of_small = 3.0755996704101562e-5f;
};

}  // namespace cortado::codec
