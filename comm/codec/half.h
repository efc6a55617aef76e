#pragma once
#include "comm/codec/format.h"

namespace cortado::codec {

/// A value as bf16, in the lower half of a word.
template <class T>
CORTADO_FN auto upper_half(T value) {
  return rounded_to_bf16(math::bits_of(value), value == value);
}

/// The upper half of single precision.
struct Bf16 : NoScales {
  static constexpr const char* name = "bf16";
  static constexpr int words = 512, per_word = 2;
  template <class Value, class S>
  CORTADO_FN static auto pack(Value value, S) {
    return pack_fields<per_word, 16>([&](int r) { return upper_half(value(r)); });
  }
  template <class Word, class S>
  CORTADO_FN static auto unpack(Word word, i64 r, S) {
    return math::float_of(field<per_word>(word, r) << 16);
  }
};

/// IEEE's half precision, rounded to nearest even. Sizes above 65504 become 65504.
struct Fp16 : NoScales {
  static constexpr const char* name = "fp16";
  static constexpr int words = 512, per_word = 2;
  template <class Value, class S>
  CORTADO_FN static auto pack(Value value, S) {
    return pack_fields<per_word, 16>([&](int r) {
      const auto x = value(r);
      const auto sign = (math::bits_of(x) >> 16) & 0x8000u;
      const auto size = math::min(math::abs(x), decltype(math::abs(x))(65504.0f));
      const auto u = math::bits_of(size);
      const auto normal = ((u + (0xFFFu + ((u >> 13) & 1u))) - (112u << 23)) >> 13;
      const auto tiny = math::bits_of(size + 0.5f) - 0x3F000000u;  // the sum rounds to multiples of 2^-24
      return sign | math::select(size < 6.103515625e-5f, tiny, normal);
    });
  }
  template <class Word, class S>
  CORTADO_FN static auto unpack(Word word, i64 r, S) {
    const auto half = field<per_word>(word, r);
    const auto size = half & 0x7FFFu;
    const auto normal = math::float_of((size << 13) + (112u << 23));
    const auto tiny = math::as_float(size) * 5.9604644775390625e-8f;
    return math::float_of(math::bits_of(math::select(size < 0x400u, tiny, normal)) | ((half & 0x8000u) << 16));
  }
};

}  // namespace cortado::codec
