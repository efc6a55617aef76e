#include "layers/concat/copy_rows.h"

#include "layers/concat/programs.h"

namespace cortado {

template <class T>
void copy_rows(CoreGroup& group, const T* from, i64 from_pitch, T* to, i64 to_pitch, i64 rows, i64 width) {
  const RowLines lines{rows, width, line_elements(group.spec(), width, 3)};
  CopyRows<T> p{from, to, lines, from_pitch, to_pitch, {}, {}};
  PlanBuilder book(group.spec());
  p.from_buf = book.line<T>("from", lines.block, Depth::two);
  p.to_buf = book.line<T>("to", lines.block, 1);
  group.launch(p, book.plan(lines.lines()));
}

template void copy_rows(CoreGroup&, const float*, i64, float*, i64, i64, i64);
template void copy_rows(CoreGroup&, const bf16*, i64, bf16*, i64, i64, i64);

}  // namespace cortado
