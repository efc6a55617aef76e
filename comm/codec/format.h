#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

/// A *format* says how blocks of floats become 32-bit words. It is a struct of static functions for lane loops:
///
///   name                the name for --codec
///   words, per_word     a block has words * per_word values; word j holds values j, j + words, j + 2 words, ...,
///                       so that lanes read and write neighbours
///   runs                the number of runs of neighbours in a block; a divisor of per_word
///   scaled              whether each run has a scale, a word
///   state               whether the error of a code is kept and added to the next values (error feedback)
///   scale(c, n, value, given)
///                       scaled: the scale of a run of n values value(i), made of `given` if that is not 0 and the
///                       format can
///   pack(value, scale)  the fields of a run's values value(0) .. value(rows_of_run - 1), as the lowest of a word
///   unpack(word, r, scale)
///                       value r of a word
///   decoded(value, scale)
///                       with state: the value that the receiver gets for `value`
namespace cortado::codec {

/// The values of a word, rows of a block, that belong to one run.
template <class Format>
constexpr int rows_of_run = Format::per_word / Format::runs;
/// Run k of a block that has `count` values, or all of them if it is `whole`.
template <class Format, bool whole>
CORTADO_FN Range run_of(int k, i64 count) {
  constexpr i64 length = i64{rows_of_run<Format>} * Format::words;
  const i64 first = k * length, end = first + length;
  return {first, whole ? end : math::min(end, count)};
}

/// The codes code(0) .. code(count - 1) in fields of so many bits each.
template <int count, int bits, class Code>
CORTADO_FN auto pack_fields(Code code) {
  auto word = code(0);
  CORTADO_UNROLL
  for (int r = 1; r < count; ++r) word = word | (code(r) << (r * bits));
  return word;
}
/// Field r of a word.
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

/// The sum of n values.
template <class C, class Value>
CORTADO_FN auto sum(C& c, i64 n, Value value) {
  return c.fold(
      n, 0.0f, [](auto a, auto b) { return a + b; }, value);
}

/// A scale as a word: the run's own unless one is given.
template <class T>
CORTADO_FN auto one_scale(T own, float given) {
  return math::bits_of(given > 0 ? T(given) : own);
}

struct NoScales {
  static constexpr int runs = 1;
  static constexpr bool scaled = false, state = false;
};

}  // namespace cortado::codec
