#pragma once
#include "core/machine/program.h"

namespace cortado {

/// The first step of a tile sets its sums, later ones add to them.
template <class C, class Sums, class Operands>
CORTADO_FN void set_or_add(C& c, i64 step, Sums& sums, Operands& in, const Taps& taps) {
  if (step == 0)
    c.product(sums, c.row_share(in.first, 0), c.col_share(in.second, 0), taps);
  else
    c.fma(sums, c.row_share(in.first, 0), c.col_share(in.second, 0), taps);
}

/// The buffers of a line of weights' gradients on its way to memory.
struct SetOrAdd {
  Buf set_buf;  ///< a tile
  Buf add_buf;  ///< a line

  /// Sets p[i] = value(i), or adds to it. Setting goes past the caches, since other layers' gradients come before
  /// anybody reads it.
  template <class C, class Value>
  CORTADO_FN void leave(C& c, bool sets, float* p, i64 n, const Value& value) const {
    if (sets) {
      auto q = c.out_streamed(set_buf, p, 1, n, n);
      c.each(n, [&](i64 i) { q.set(0, i, value(i)); });
      c.put(q);
    } else {
      auto q = c.update(add_buf, p, n);
      c.each(n, [&](i64 i) { q.set(i, q.at(i) + value(i)); });
      c.put(q);
    }
  }
};

}  // namespace cortado
