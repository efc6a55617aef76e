#pragma once
#include "core/machine/core_group.h"
#include "core/machine/integers.h"
#include "layers/split/programs.h"

namespace cortado {

/// Queues sum = a + b for n values; sum may be a or b.
template <class T>
void add_pairs(CoreGroup& group, const T* a, const T* b, T* sum, i64 n) {
  const i64 block = line_elements(group.spec(), n, 5);
  PlanBuilder book(group.spec());
  const Buf a_buf = book.line("a", block * 4, Depth::two), b_buf = book.line("b", block * 4, Depth::two),
            out = book.line("sum", block * 4, 1);
  group.launch(AddPairs<T>{a, b, sum, n, block, a_buf, b_buf, out}, book.plan(ceil_div(n, block)));
}

}  // namespace cortado
