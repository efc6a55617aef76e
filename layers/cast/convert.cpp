#include "layers/cast/convert.h"

#include "layers/cast/programs.h"

namespace cortado {

template <class From, class To>
void convert(CoreGroup& group, const From* from, To* to, i64 n) {
  Convert<From, To> p{from, to, n, line_elements(group.spec(), n, 3), {}, {}};
  PlanBuilder book(group.spec());
  p.from_buf = book.line("from", p.block * 4, Depth::two);
  p.to_buf = book.line("to", p.block * 4, 1);
  group.launch(p, book.plan(ceil_div(n, p.block)));
}

template void convert(CoreGroup&, const float*, bf16*, i64);
template void convert(CoreGroup&, const bf16*, float*, i64);

}  // namespace cortado
