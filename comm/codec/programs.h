#pragma once
#include "comm/codec/eight_bit.h"
#include "comm/codec/float.h"
#include "comm/codec/half.h"
#include "comm/codec/one_bit.h"
#include "comm/codec/small_float.h"
#include "comm/codec/three_in_one.h"
#include "comm/codec/threshold.h"
#include "core/machine/view.h"

namespace cortado::codec {

/// Lines of the same number of values, which the compiler knows.
template <i64 each>
struct Blocks {
  CORTADO_FN static i64 most() { return each; }
  CORTADO_FN LineAt where(i64 line) const { return {line * each, each}; }
};

/// Blocks of n values become words and scales, a line each. Where the format has state, it is added to the values
/// first, and what the code leaves out becomes the new state.
template <class Format>
struct Encode {
  static constexpr const char* label = "encode";
  static constexpr i64 block = Format::words * Format::per_word;
  Lines<const float> values;
  Lines<float> state;
  View<Blocks<Format::words>, std::uint32_t> code;
  View<Blocks<Format::runs>, std::uint32_t> scales;
  float given;  ///< scale of all runs, 0: each has its own

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const Encode p = *this;
    each_line(c, p.values, [&](i64 b, auto& x) {
      if (x.n == block)
        p.encode<true>(c, b, x);
      else
        p.encode<false>(c, b, x);
    });
  }

 private:
  /// Block b, which has all its values if it is `whole`: then the compiler knows the lengths of the loops over its
  /// runs.
  template <bool whole, class C, class Line>
  CORTADO_FN void encode(C& c, i64 b, const Line& x) const {
    const i64 count = whole ? block : x.n;
    if constexpr (Format::state) {
      auto v = state.update(c, b);
      c.each(count, [&](i64 i) { v.set(i, v.at(i) + x[i]); });
      write<whole>(
          c, b, count, [&](i64 i) { return v.at(i); },
          [&](Range run, auto scale) {
            c.each(run, [&](i64 i) { v.set(i, v.at(i) - Format::decoded(v.at(i), scale)); });
          });
      c.put(v);
    } else {
      write<whole>(
          c, b, count, [&](i64 i) { return x[i]; }, [](Range, auto) {});
    }
  }

  /// Words and scales; `after` is told of each run that is done.
  template <bool whole, class C, class Value, class After>
  CORTADO_FN void write(C& c, i64 b, i64 count, Value value, After after) const {
    auto to = code.out(c, b);
    if constexpr (Format::scaled) {
      auto out = scales.out(c, b);
      for (int k = 0; k < Format::runs; ++k) {
        const Range run = run_of<Format, whole>(k, count);
        const auto scale = Format::scale(
            c, run.count(), [&](i64 i) { return value(run.first + i); }, given);
        c.once([&] { out.set(k, scale); });
        write_run<whole>(c, k, count, value, to, scale);
        after(run, scale);
      }
      c.put(out);
    } else {
      write_run<whole>(c, 0, count, value, to, 0u);
    }
    c.put(to);
  }

  /// The fields of run k in all words.
  template <bool whole, class C, class Value, class Words, class S>
  CORTADO_FN void write_run(C& c, int k, i64 count, Value value, Words& to, S scale) const {
    const auto fields = [&](i64 j) {
      const auto of_word = [&](int r) {
        const i64 i = j + (k * rows_of_run<Format> + r) * Format::words;
        return whole || i < count ? value(i) : decltype(value(i))(0.0f);
      };
      return Format::pack(of_word, scale) << (k * (32 / Format::runs));
    };
    if (k == 0)
      c.each(Format::words, [&](i64 j) { to.set(j, fields(j)); });
    else
      c.each(Format::words, [&](i64 j) { to.set(j, to.at(j) | fields(j)); });
  }
};

/// Whole blocks of values, a row for each field of a word.
template <class Format>
struct FieldRows {
  static constexpr i64 words = Format::words, fields = Format::per_word;
  CORTADO_FN static i64 most() { return fields * words; }
  CORTADO_FN BlockAt where(i64 block) const { return {block * most(), fields, words, words}; }
};

/// The other way; with `add` y += the values, else y = the values.
template <class Format>
struct Decode {
  static constexpr const char* label = "decode";
  static constexpr i64 words = Format::words, block = words * Format::per_word;
  View<Blocks<Format::words>, const std::uint32_t> code;
  View<Blocks<Format::runs>, const std::uint32_t> scales;
  bool add;
  View<FieldRows<Format>, const float> old;  ///< y
  Lines<float> y;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const Decode p = *this;
    const auto fetch_code = [&](i64 b) { return p.code.get(c, b); };
    if constexpr (Format::scaled) {
      const auto fetch = [&](i64 b) { return gather(fetch_code(b), p.scales.get(c, b)); };
      const auto work = named([&](i64 b, auto& word, auto& scales) {
        p.write(c, b, word, [&](i64 r) { return scales[r / rows_of_run<Format>]; });
      });
      c.lines(p.y.lines(), Depth::two, fetch, work);
    } else {
      c.lines(p.y.lines(), Depth::two, fetch_code,
              [&](i64 b, auto& word) { p.write(c, b, word, [](i64) { return 0u; }); });
    }
  }

 private:
  template <class C, class Word, class Scale>
  CORTADO_FN void write(C& c, i64 b, const Word& word, Scale scale) const {
    const View<FieldRows<Format>, float> rows{y.array, {}, y.buf};
    const i64 count = y.cut.count(b);
    if (count < block) {
      if (add) {
        auto to = y.update(c, b);
        c.each(count,
               [&](i64 i) { to.set(i, to.at(i) + Format::unpack(word[i % words], i / words, scale(i / words))); });
        c.put(to);
      } else {
        auto to = y.out(c, b);
        c.each(count, [&](i64 i) { to.set(i, Format::unpack(word[i % words], i / words, scale(i / words))); });
        c.put(to);
      }
    } else if (add) {
      const auto before = old.get(c, b);
      auto to = rows.out(c, b);
      c.each2d(Format::per_word, words,
               [&](i64 r, i64 j) { to.set(r, j, before(r, j) + Format::unpack(word[j], r, scale(r))); });
      c.put(to);
    } else {
      auto to = rows.out(c, b);
      c.each2d(Format::per_word, words, [&](i64 r, i64 j) { to.set(r, j, Format::unpack(word[j], r, scale(r))); });
      c.put(to);
    }
  }
};

/// beyond[i] = 1 where line i holds one that is not below `limit` in size, NaN for
/// example, else 0.
struct Beyond {
  static constexpr const char* label = "beyond";
  Lines<const float> values;
  Lines<float> beyond;
  float limit;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const Beyond p = *this;
    each_line(c, p.values, [&](i64 i, auto& line) {
      const auto any = c.fold(
          line.n, 0.0f, [](auto a, auto b) { return math::max(a, b); },
          [&](i64 j) { return math::select(math::abs(line[j]) < p.limit, 0.0f, 1.0f); });
      put_values(c, p.beyond, i, any);
    });
  }
};

}  // namespace cortado::codec
