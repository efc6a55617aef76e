#pragma once
#include "comm/codec/format.h"

namespace cortado::codec {

/// Single precision as it is, the measure for other codecs.
struct Fp32 : NoScales {
  static constexpr const char* name = "fp32";
  static constexpr int words = 1024, per_word = 1;
  template <class Value, class S>
  CORTADO_FN static auto pack(Value value, S) {
    return math::bits_of(value(0));
  }
  template <class Word, class S>
  CORTADO_FN static auto unpack(Word word, i64, S) {
    return math::float_of(word);
  }
};

}  // namespace cortado::codec
