#pragma once
#include "core/machine/integers.h"
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// to = from, element by element, stored as another type.
template <class From, class To>
struct Convert {
  static constexpr const char* label = "convert";
  const From* from;
  To* to;
  i64 n, block;
  Buf from_buf, to_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const Convert p = *this;
    c.lines(
        ceil_div(p.n, p.block), Depth::two,
        [&](i64 i) { return c.get(p.from_buf, p.from + i * p.block, math::min(p.block, p.n - i * p.block)); },
        [&](i64 i, auto& from) {
          auto to = c.out(p.to_buf, p.to + i * p.block, from.n);
          c.each(from.n, [&](i64 j) { to.set(j, from[j]); });
          c.put(to);
        });
  }
};

}  // namespace cortado
