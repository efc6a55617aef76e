#pragma once
#include "core/machine/row_lines.h"

namespace cortado {

/// Copies `rows` lines of `width` values between arrays whose lines lie apart by their pitches.
template <class T>
struct CopyRows {
  static constexpr const char* label = "copy_rows";
  const T* from;
  T* to;
  RowLines s;
  i64 from_pitch, to_pitch;
  Buf from_buf, to_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const CopyRows p = *this;
    const auto fetch = [&](i64 i) {
      return c.get(p.from_buf, p.from + p.s.row(i) * p.from_pitch + p.s.first(i), p.s.count(i));
    };
    c.lines(p.s.lines(), Depth::two, fetch, [&](i64 i, auto& from) {
      auto to = c.out(p.to_buf, p.to + p.s.row(i) * p.to_pitch + p.s.first(i), from.n);
      c.each(from.n, [&](i64 j) { to.set(j, from[j]); });
      c.put(to);
    });
  }
};

}  // namespace cortado
