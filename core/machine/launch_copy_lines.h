#pragma once
#include "core/machine/copy_lines.h"
#include "core/machine/core_group.h"

namespace cortado {

/// Queues to = from, line by line. A folder lists the CopyLines of its cuts.
template <class From, class To, class T>
void copy_lines(CoreGroup& group, const T* from, const From& from_cut, T* to, const To& to_cut) {
  PlanBuilder book(group.spec());
  const CopyLines<From, To, T> program{reads(book, "from", from, from_cut), writes(book, "to", to, to_cut)};
  group.launch(program, book.plan(to_cut.lines()));
}

}  // namespace cortado
