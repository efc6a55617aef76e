#include "layers/concat/copy_rows.h"

#include "core/machine/integers.h"
#include "layers/concat/programs.h"

namespace cortado {

template <class T>
void copy_rows(CoreGroup& group, const T* from, i64 from_pitch, T* to, i64 to_pitch, i64 rows, i64 width) {
  CopyRows<T> p{from, to, rows, width, from_pitch, to_pitch, line_elements(group.spec(), width, 3), {}, {}};
  PlanBuilder book(group.spec());
  p.from_buf = book.line("from", p.block * 4, Depth::two);
  p.to_buf = book.line("to", p.block * 4, 1);
  group.launch(p, book.plan(rows * ceil_div(width, p.block)));
}

template void copy_rows(CoreGroup&, const float*, i64, float*, i64, i64, i64);
template void copy_rows(CoreGroup&, const bf16*, i64, bf16*, i64, i64, i64);

}  // namespace cortado
