#pragma once
#include "core/machine/gather.h"
#include "core/machine/row_lines.h"
#include "core/machine/sums.h"

namespace cortado {

/// An array as a program sees it: where it lies, how lines cut it, and the scratchpad booked for a line. `Cut` knows
/// sizes and layout. Its where(place...) is a LineAt or a BlockAt, and lines are numbers or places of the cut's own.
/// Its lines() is their number, and most() the values of the longest. `T` is const for what is only read.
template <class Cut, class T>
struct View {
  T* array;
  Cut cut;
  Buf buf;

  CORTADO_FN i64 lines() const { return cut.lines(); }
  template <class C, class... Place>
  CORTADO_FN auto get(C& c, Place... place) const {
    return get_at(c, cut.where(place...));
  }
  template <class C, class... Place>
  CORTADO_FN auto out(C& c, Place... place) const {
    return out_at(c, cut.where(place...));
  }
  /// A line that is no block.
  template <class C, class... Place>
  CORTADO_FN auto update(C& c, Place... place) const {
    const LineAt line = cut.where(place...);
    return c.update(buf, array + line.at, line.n);
  }
  /// An array that is one line, for the whole launch.
  template <class C>
  CORTADO_FN auto keep(C& c) const {
    return c.keep(buf, array, cut.most());
  }

 private:
  template <class C>
  CORTADO_FN auto get_at(C& c, LineAt line) const {
    return c.get(buf, array + line.at, line.n);
  }
  template <class C>
  CORTADO_FN auto get_at(C& c, BlockAt block) const {
    return c.get2d(buf, array + block.at, block.rows, block.cols, block.pitch);
  }
  template <class C>
  CORTADO_FN auto out_at(C& c, LineAt line) const {
    return c.out(buf, array + line.at, line.n);
  }
  template <class C>
  CORTADO_FN auto out_at(C& c, BlockAt block) const {
    return c.out2d(buf, array + block.at, block.rows, block.cols, block.pitch);
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
View<Cut, T> writes(PlanBuilder& book, const char* name, T* array, const Cut& cut, Depth depth = Depth::one) {
  return {array, cut, book.line<T>(name, cut.most(), depth)};
}

/// Writes a few values that one lane knows in place of a line.
template <class C, class T, class... V>
CORTADO_FN void put_values(C& c, const Lines<T>& to, i64 line, V... values) {
  put_values(c, to.buf, to.array + to.cut.at(line), values...);
}

/// Lines 0..n-1 of a view, the next one while it works on one: work(i, line).
template <class C, class Cut, class T, class Work>
CORTADO_FN void each_line(C& c, const View<Cut, T>& of, Work work) {
  c.lines(
      of.lines(), Depth::two, [&](i64 i) { return of.get(c, i); }, work);
}
/// The same of several views, as many as the first one has: work(i, x, y, ...).
///
///   each_line(c, gather(p.x, p.dy), [&](i64 i, auto x, auto dy) { ... });
template <class C, class... Views, class Work>
CORTADO_FN void each_line(C& c, Gathered<Views...> of, Work work) {
  const auto fetch = [&](i64 i) { return of.apply([&](const auto&... view) { return gather(view.get(c, i)...); }); };
  c.lines(of.first.lines(), Depth::two, fetch, named(work));
}

/// The sum over row r of what lines have: sum(things...) of the things that fetch(line) gathers.
template <class C, class Fetch, class Sum>
CORTADO_FN double sum_of_row(C& c, const RowLines& s, i64 r, Fetch fetch, Sum sum) {
  double total = 0;
  c.pipeline(
      s.blocks(), Depth::two, [&](i64 b) { return fetch(s.line(r, b)); },
      named([&](i64, auto... things) { total += sum(things...); }));
  return total;
}

}  // namespace cortado
