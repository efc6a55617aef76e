#pragma once
#include "comm/codec/format.h"

namespace cortado::codec {

/// The common part of the 8-bit floating-point types (Micikevicius et al. 2022): a sign, `exponent_bits` and the
/// mantissa, rounded to nearest even. Each run of 128 neighbours has a scale, as in the Open Compute Project's
/// microscaling formats. It is the least power of two with which the run's largest finite size is no more than the
/// type's. Sizes above that, by a scale that is given, become the type's largest. NaN stays NaN, and infinity is
/// infinity where the type has one, else NaN; neither changes what its neighbours become.
template <int exponent_bits>
struct SmallFloat {
  static constexpr int words = 128, per_word = 4, runs = 4;
  static constexpr bool scaled = true, state = false;

  static constexpr int mantissa_bits = 7 - exponent_bits, shift = 23 - mantissa_bits;
  static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  /// The last of 2^5 exponents is that of infinity and NaN. With 2^4, NaN alone has the last code.
  static constexpr bool has_infinity = exponent_bits == 5;
  static constexpr int top = (1 << exponent_bits) - 1 - bias - (has_infinity ? 1 : 0);
  static constexpr float largest_size = 1.75f * static_cast<float>(1 << top);
  static constexpr float least_normal = 1.0f / static_cast<float>(1 << (bias - 1));
  static constexpr float step = least_normal / static_cast<float>(1 << mantissa_bits);  ///< of smaller sizes
  static constexpr std::uint32_t infinite = 0x7F800000u;

  template <class C, class Value>
  CORTADO_FN static auto scale(C& c, i64 n, Value value, float given) {
    const auto most = largest(c, n, [&](i64 i) {
      const auto size = math::abs(value(i));
      return math::select(math::bits_of(size) < infinite, size, decltype(size + size)(0.0f));
    });
    // With 2^e for the largest size m 2^e, 1 <= m <= 1.75, or 2^(e + 1) for more.
    const auto bits = math::bits_of(math::max(most, decltype(most + most)(1e-30f)));
    return one_scale(math::float_of(((bits + 0x1FFFFFu) & infinite) - (std::uint32_t{top} << 23)), given);
  }
  template <class Value, class S>
  CORTADO_FN static auto pack(Value value, S scale) {
    const auto inverse = 1.0f / math::float_of(scale);
    return pack_fields<1, 8>([&](int r) {
      const auto bits = math::bits_of(value(r)), given = bits & 0x7FFFFFFFu;
      const auto scaled = math::float_of(given) * inverse;
      const auto size = math::select(scaled < largest_size, scaled, decltype(scaled + scaled)(largest_size));
      const auto u = math::bits_of(size);
      const auto normal = ((u + ((1u << (shift - 1)) - 1u + ((u >> shift) & 1u))) - ((127u - bias) << 23)) >> shift;
      constexpr float steps = step * (1 << 23);  // the sum rounds to multiples of the step
      const auto tiny = math::bits_of(size + steps) - math::bits_of(steps);
      const auto code = math::select(size < least_normal, tiny, normal);
      const auto none = 0x7Fu - (has_infinity ? 3u : 0u) * ((given - (infinite + 1u)) >> 31);
      return math::select(given < infinite, code, none) | ((bits >> 24) & 0x80u);
    });
  }
  template <class Word, class S>
  CORTADO_FN static auto unpack(Word word, i64 r, S scale) {
    const auto code = field<per_word>(word, r), size = code & 0x7Fu;
    const auto normal = math::float_of((size << shift) + ((127u - bias) << 23));
    const auto tiny = math::as_float(size) * step;
    const auto value = math::select(size < (1u << mantissa_bits), tiny, normal) * math::float_of(scale);
    constexpr std::uint32_t first_without_size = has_infinity ? 0x7Cu : 0x7Fu;
    const auto none = (size << shift) | infinite;  // 0x7F has all mantissa bits, 0x7C none
    const auto all = math::select(size < first_without_size, math::bits_of(value), none);
    return math::float_of(all | ((code & 0x80u) << 24));
  }
};

/// Three bits of mantissa, sizes to 448: for values of one kind, such as weights.
struct E4M3 : SmallFloat<4> {
  static constexpr const char* name = "e4m3";
};
/// Two bits of mantissa, sizes to 57344, down to 2^-32 of them: for gradients, whose sizes differ more.
struct E5M2 : SmallFloat<5> {
  static constexpr const char* name = "e5m2";
};

}  // namespace cortado::codec
