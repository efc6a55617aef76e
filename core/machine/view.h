#pragma once
#include "core/machine/gather.h"
#include "core/machine/row_lines.h"
#include "core/machine/sums.h"

namespace cortado {

/// An array as a program sees it: where it lies, how lines cut it, and the scratchpad booked for a line. `Cut` knows
/// sizes and layout: it has get, out and, where lines may be changed, update; lines(), how many there are; and most(),
/// the values of the longest. `T` is const for what is only read.
template <class Cut, class T>
struct View {
  T* array;
  Cut cut;
  Buf buf;

  CORTADO_FN i64 lines() const { return cut.lines(); }
  /// The line at a place that the cut knows: its number, for most.
  template <class C, class... Place>
  CORTADO_FN auto get(C& c, Place... place) const {
    return cut.get(c, buf, array, place...);
  }
  template <class C, class... Place>
  CORTADO_FN auto out(C& c, Place... place) const {
    return cut.out(c, buf, array, place...);
  }
  template <class C, class... Place>
  CORTADO_FN auto update(C& c, Place... place) const {
    return cut.update(c, buf, array, place...);
  }
  /// An array that is one line, for the whole launch.
  template <class C>
  CORTADO_FN auto keep(C& c) const {
    return c.keep(buf, array, cut.most());
  }
};

/// An array in rows.
template <class T>
using Lines = View<RowLines, T>;

/// Views of arrays that a program reads line by line, the next one while it works on one, and of those that it writes.
///
///   PlanBuilder book(group.spec());
///   const Double program{reads(book, "x", x, rows), writes(book, "y", y, rows)};
///   group.launch(program, book.plan(rows.lines()));
template <class Cut, class T>
View<Cut, const T> reads(PlanBuilder& book, const char* name, const T* array, const Cut& cut,
                         Depth depth = Depth::two) {
  return {array, cut, book.line<T>(name, cut.most(), depth)};
}
template <class Cut, class T>
View<Cut, T> writes(PlanBuilder& book, const char* name, T* array, const Cut& cut) {
  return {array, cut, book.line<T>(name, cut.most(), 1)};
}

/// Writes a few values that one lane knows in place of a line.
template <class C, class T, class... V>
CORTADO_FN void put_values(C& c, const Lines<T>& to, i64 line, V... values) {
  put_values(c, to.buf, to.array + to.cut.at(line), values...);
}

}  // namespace cortado
