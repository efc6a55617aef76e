#pragma once
#include "core/machine/program.h"

namespace cortado::sunway {

/// Copies or zeroes `words` 32-bit words, a line of `block` at a time: what CoreGroup::copy and zero run on the
/// cluster, whose transfers are three times as fast as the MPE's.
struct MoveWords {
  static constexpr const char* label = "move_words";
  const std::uint32_t* from;  // null: zeros
  std::uint32_t* to;
  i64 words, block;
  Buf in_buf, out_buf;

  template <class C>
  void operator()(C& c) const {
    const MoveWords p = *this;
    const auto width = [&](i64 i) { return p.block < p.words - i * p.block ? p.block : p.words - i * p.block; };
    const i64 lines = (p.words + p.block - 1) / p.block;
    if (p.from == nullptr) {
      c.lines(
          lines, Depth::one, [](i64 i) { return i; },
          [&](i64 i, i64&) {
            auto q = c.out(p.out_buf, p.to + i * p.block, width(i));
            c.each(q.n, [&](i64 j) { q.set(j, 0); });
            c.put(q);
          });
      return;
    }
    c.lines(
        lines, Depth::two, [&](i64 i) { return c.get(p.in_buf, p.from + i * p.block, width(i)); },
        [&](i64 i, auto& in) {
          auto q = c.out(p.out_buf, p.to + i * p.block, in.n);
          c.each(in.n, [&](i64 j) { q.set(j, in[j]); });
          c.put(q);
        });
  }
};

}  // namespace cortado::sunway
