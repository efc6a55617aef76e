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

}  // namespace cortado
