#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// Copies `rows` lines of `width` values between arrays whose lines lie apart by their pitches.
template <class T>
struct CopyRows {
  static constexpr const char* label = "copy_rows";
  const T* from;
  T* to;
  i64 rows, width, from_pitch, to_pitch, block;
  Buf from_buf, to_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const CopyRows p = *this;
    const i64 blocks = (p.width + p.block - 1) / p.block;
    c.lines(
        p.rows * blocks, Depth::two,
        [&](i64 i) {
          const i64 first = i % blocks * p.block;
          return c.get(p.from_buf, p.from + i / blocks * p.from_pitch + first, math::min(p.block, p.width - first));
        },
        [&](i64 i, auto& from) {
          auto to = c.out(p.to_buf, p.to + i / blocks * p.to_pitch + i % blocks * p.block, from.n);
          c.each(from.n, [&](i64 j) { to.set(j, from[j]); });
          c.put(to);
        });
  }
};

}  // namespace cortado
