#pragma once
#include "comm/codec/eight_bit.h"
#include "comm/codec/float.h"
#include "comm/codec/half.h"
#include "comm/codec/one_bit.h"
#include "comm/codec/three_in_one.h"
#include "comm/codec/threshold.h"

namespace cortado::codec {

/// Blocks of n values become words and scales, a line each. Where the format has state, it is added to the values
/// first, and what the code leaves out becomes the new state.
template <class Format>
struct Encode {
  static constexpr const char* label = "encode";
  static constexpr i64 block = Format::words * Format::per_word;
  const float* values;
  float* state;
  std::uint32_t* code;
  float* scales;
  float given;  ///< scale of all blocks, 0: each has its own
  i64 n;
  Buf value_buf, state_buf, code_buf, scale_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const Encode p = *this;
    c.lines((p.n + block - 1) / block, Depth::two,
            [&](i64 b) { return c.get(p.value_buf, p.values + b * block, math::min(block, p.n - b * block)); },
            [&](i64 b, auto& x) {
              if constexpr (Format::state) {
                auto v = c.update(p.state_buf, p.state + b * block, x.n);
                c.each(x.n, [&](i64 i) { v.set(i, v.at(i) + x[i]); });
                const auto s = p.write(c, b, x.n, [&](i64 i) { return v.at(i); });
                c.each(x.n, [&](i64 i) { v.set(i, v.at(i) - Format::decoded(v.at(i), s)); });
                c.put(v);
              } else {
                p.write(c, b, x.n, [&](i64 i) { return x[i]; });
              }
            });
  }

 private:
  template <class C, class Value>
  CORTADO_FN auto write(C& c, i64 b, i64 count, Value value) const {
    const auto s = Format::scale(c, count, value, given);
    auto to = c.out(code_buf, code + b * Format::words, Format::words);
    if (count == block) {
      c.each(Format::words,
             [&](i64 j) { to.set(j, Format::pack([&](i64 r) { return value(j + r * Format::words); }, s)); });
    } else {
      c.each(Format::words, [&](i64 j) {
        const auto known = [&](i64 r) {
          const i64 i = j + r * Format::words;
          return i < count ? value(i) : decltype(value(i))(0.0f);
        };
        to.set(j, Format::pack(known, s));
      });
    }
    c.put(to);
    if constexpr (Format::scales > 0) {
      auto out = c.out(scale_buf, scales + b * Format::scales, Format::scales);
      c.once([&] {
        out.set(0, s.first);
        if constexpr (Format::scales > 1) out.set(1, s.second);
      });
      c.put(out);
    }
    return s;
  }
};

/// The other way; with `add` y += the values, else y = the values.
template <class Format>
struct Decode {
  static constexpr const char* label = "decode";
  static constexpr i64 words = Format::words, block = words * Format::per_word;
  const std::uint32_t* code;
  const float* scales;
  float* y;
  bool add;
  i64 n;
  Buf code_buf, scale_buf, old_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const Decode p = *this;
    const i64 blocks = (p.n + block - 1) / block;
    const auto codes = [&](i64 b) { return c.get(p.code_buf, p.code + b * words, words); };
    if constexpr (Format::scales == 0) {
      c.lines(blocks, Depth::two, codes, [&](i64 b, auto& word) { p.write(c, b, word, Scales<float>{0, 0}); });
    } else {
      c.lines(
          blocks, Depth::two,
          [&](i64 b) { return both(codes(b), c.get(p.scale_buf, p.scales + b * Format::scales, Format::scales)); },
          [&](i64 b, auto& in) {
            const auto first = in.second[0], second = in.second[Format::scales - 1];
            p.write(c, b, in.first, Scales<std::decay_t<decltype(first)>>{first, second});
          });
    }
  }

 private:
  template <class C, class Word, class S>
  CORTADO_FN void write(C& c, i64 b, const Word& word, const S& s) const {
    float* const at = y + b * block;
    const i64 count = math::min(block, n - b * block);
    if (count < block) {
      if (add) {
        auto to = c.update(y_buf, at, count);
        c.each(count, [&](i64 i) { to.set(i, to.at(i) + Format::unpack(word[i % words], i / words, s)); });
        c.put(to);
      } else {
        auto to = c.out(y_buf, at, count);
        c.each(count, [&](i64 i) { to.set(i, Format::unpack(word[i % words], i / words, s)); });
        c.put(to);
      }
    } else if (add) {
      const auto old = c.get2d(old_buf, at, Format::per_word, words, words);
      auto to = c.out2d(y_buf, at, Format::per_word, words, words);
      c.each2d(Format::per_word, words, [&](i64 r, i64 j) { to.set(r, j, old(r, j) + Format::unpack(word[j], r, s)); });
      c.put(to);
    } else {
      auto to = c.out2d(y_buf, at, Format::per_word, words, words);
      c.each2d(Format::per_word, words, [&](i64 r, i64 j) { to.set(r, j, Format::unpack(word[j], r, s)); });
      c.put(to);
    }
  }
};

/// beyond[i] = 1 where line i, the i-th `block` of n values, holds one that is not below `limit` in size, NaN for
/// example, else 0.
struct Beyond {
  static constexpr const char* label = "beyond";
  const float* values;
  float* beyond;
  i64 n, block;
  float limit;
  Buf in, out;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const Beyond p = *this;
    c.lines((p.n + p.block - 1) / p.block, Depth::two,
            [&](i64 i) { return c.get(p.in, p.values + i * p.block, math::min(p.block, p.n - i * p.block)); },
            [&](i64 i, auto& line) {
              const auto any = c.fold(
                  line.n, 0.0f, [](auto a, auto b) { return math::max(a, b); },
                  [&](i64 j) { return math::select(math::abs(line[j]) < p.limit, 0.0f, 1.0f); });
              auto to = c.out(p.out, p.beyond + i, 1);
              c.once([&] { to.set(0, any); });
              c.put(to);
            });
  }
};

}  // namespace cortado::codec
