#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

/// A *format* says how blocks of floats become 32-bit words. It is a struct of static functions for lane loops:
///
///   name                what --codec calls it
///   words, per_word     a block has words * per_word values; word j holds values j, j + words, j + 2 words, ...,
///                       so that lanes read and write neighbours
///   scales              floats that go with a block
///   state               whether what a code leaves out is kept and added to the next values (error feedback)
///   scale(c, n, value, given)  the block's scales, from its n values: value(i); `given`, if not 0, is asked for
///   instead pack(value, s)      a word of the values value(0) .. value(per_word - 1) unpack(word, r, s)  its value r
///   decoded(value, s)   with state: what a value becomes in the end
namespace cortado::codec {

/// Of a block. Formats without scales ignore them.
template <class T>
struct Scales {
  T first, second;
};

/// The codes of value(0) .. value(per_word - 1) in fields of 32 / per_word bits each.
template <int per_word, class Value, class Code>
CORTADO_FN auto pack_fields(Value value, Code code) {
  auto word = code(value(0));
  CORTADO_UNROLL
  for (int r = 1; r < per_word; ++r) word = word | (code(value(r)) << (r * (32 / per_word)));
  return word;
}
template <int per_word, class Word>
CORTADO_FN auto field(Word word, i64 r) {
  constexpr int bits = 32 / per_word;
  return (word >> static_cast<int>(r * bits)) & ((std::uint32_t{1} << bits) - 1);
}

/// The largest size among n values.
template <class C, class Value>
CORTADO_FN auto largest(C& c, i64 n, Value value) {
  const auto larger = [](auto a, auto b) { return math::max(a, b); };
  return c.fold(n, 0.0f, larger, [&](i64 i) { return math::abs(value(i)); });
}

/// One scale: the block's own unless one is given.
template <class T>
CORTADO_FN Scales<T> one_scale(T own, float given) {
  return {given > 0 ? T(given) : own, T(0.0f)};
}

struct NoScales {
  static constexpr int scales = 0;
  static constexpr bool state = false;
  template <class C, class Value>
  CORTADO_FN static Scales<float> scale(C&, i64, Value, float) {
    return {0, 0};
  }
};

}  // namespace cortado::codec
