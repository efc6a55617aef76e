#pragma once
#include "comm/codec/half.h"

namespace cortado::codec {

/// Each run of 64 becomes one of two values: its mean plus or minus the mean distance from it, whichever is nearer. The
/// error is kept and added to the next values.
///
/// Seide et al. 2014 send signs, and for each column of a matrix the means of values above and below zero. The
/// gradients of a filter's weights often have one sign, so sides of their mean say more. Longer runs make codes
/// smaller, 1.125 bits a value with 256. But they mix filters, and train worse (docs/measured/accuracy.md).
struct OneBit {
  static constexpr const char* name = "one_bit";
  static constexpr int words = 32, per_word = 32, runs = 16;
  static constexpr bool scaled = true, state = true;

  /// The mean in the upper half and the mean distance from it in the lower half, both as bf16.
  template <class C, class Value>
  CORTADO_FN static auto scale(C& c, i64 n, Value value, float) {
    const float share = 1.0f / static_cast<float>(math::max(n, i64{1}));
    const auto middle = upper_half(sum(c, n, value) * share) << 16;
    const auto from = math::float_of(middle);
    return middle | upper_half(sum(c, n, [&](i64 i) { return math::abs(value(i) - from); }) * share);
  }
  template <class Value, class S>
  CORTADO_FN static auto pack(Value value, S scale) {
    const auto from = mean(scale);
    return pack_fields<per_word / runs, 1>([&](int r) { return math::select(value(r) >= from, 1u, 0u); });
  }
  template <class Word, class S>
  CORTADO_FN static auto unpack(Word word, i64 r, S scale) {
    return side(field<per_word>(word, r) != 0u, scale);
  }
  template <class T, class S>
  CORTADO_FN static auto decoded(T value, S scale) {
    return side(value >= mean(scale), scale);
  }

 private:
  template <class S>
  CORTADO_FN static auto mean(S scale) {
    return math::float_of(scale & 0xFFFF0000u);
  }
  template <class Condition, class S>
  CORTADO_FN static auto side(Condition above, S scale) {
    const auto distance = math::float_of(scale << 16);
    return math::select(above, mean(scale) + distance, mean(scale) - distance);
  }
};

}  // namespace cortado::codec
