#pragma once
#include "comm/codec/format.h"

namespace cortado::codec {

/// Only values beyond a threshold t are sent, as t or -t (Strom 2015); the rest is kept and added to the next values.
/// Two bits a value, whatever is sent, so that sizes do not depend on data. t is half
/// of the block's largest size, so that what is left out cannot grow without bound, or `given`.
struct Threshold {
  static constexpr const char* name = "threshold";
  static constexpr int words = 64, per_word = 16, scales = 1;
  static constexpr bool state = true;

  template <class C, class Value>
  CORTADO_FN static auto scale(C& c, i64 n, Value value, float given) {
    return one_scale(0.5f * largest(c, n, value), given);
  }
  /// 1: t, 2: -t, 0: nothing.
  template <class Value, class S>
  CORTADO_FN static auto pack(Value value, const S& s) {
    return pack_fields<per_word>(
        value, [&](auto x) { return math::select(x > s.first, 1u, math::select(-x > s.first, 2u, 0u)); });
  }
  template <class Word, class S>
  CORTADO_FN static auto unpack(Word word, i64 r, const S& s) {
    const auto code = field<per_word>(word, r);
    return math::select(code == 1u, s.first, math::select(code == 2u, -s.first, 0.0f));
  }
  template <class T, class S>
  CORTADO_FN static auto decoded(T value, const S& s) {
    return math::select(value > s.first, s.first, math::select(-value > s.first, -s.first, 0.0f));
  }
};

}  // namespace cortado::codec
