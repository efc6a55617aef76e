#pragma once
#include "comm/codec/format.h"

namespace cortado::codec {

/// Signs, and per block the means of the values >= 0 and of those below (Seide et al. 2014); what they leave out is
/// kept and added to the next values.
struct OneBit {
  static constexpr const char* name = "one_bit";
  static constexpr int words = 32, per_word = 32, scales = 2;
  static constexpr bool state = true;

  template <class C, class Value>
  CORTADO_FN static auto scale(C& c, i64 n, Value value, float) {
    const auto add = [](auto a, auto b) { return a + b; };
    const auto count = c.fold(n, 0.0f, add, [&](i64 i) { return math::select(value(i) >= 0.0f, 1.0f, 0.0f); });
    const auto upper = c.fold(n, 0.0f, add, [&](i64 i) { return math::max(value(i), decltype(value(i))(0.0f)); });
    const auto lower = c.fold(n, 0.0f, add, [&](i64 i) { return math::min(value(i), decltype(value(i))(0.0f)); });
    using S = std::decay_t<decltype(upper / count)>;
    return Scales<S>{upper / math::max(count, decltype(count)(1.0f)),
                     lower / math::max(static_cast<float>(n) - count, decltype(static_cast<float>(n) - count)(1.0f))};
  }
  template <class Value, class S>
  CORTADO_FN static auto pack(Value value, const S&) {
    return pack_fields<per_word>(value, [](auto x) { return math::select(x >= 0.0f, 1u, 0u); });
  }
  template <class Word, class S>
  CORTADO_FN static auto unpack(Word word, i64 r, const S& s) {
    return math::select(field<per_word>(word, r) != 0u, s.first, s.second);
  }
  template <class T, class S>
  CORTADO_FN static auto decoded(T value, const S& s) {
    return math::select(value >= 0.0f, s.first, s.second);
  }
};

}  // namespace cortado::codec
