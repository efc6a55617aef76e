#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// The place of a line in its array: `n` values from `at` on.
struct LineAt {
  i64 at, n;
};
/// The place of a line that is a block: rows of `cols` values, which begin `pitch` apart.
struct BlockAt {
  i64 at, rows, cols, pitch;
};

/// An array of `rows` rows of `width` values, cut into lines of at most `block` values of one row. A flat array is one
/// row.
struct RowLines {
  i64 rows, width, block;

  /// Lines that are whole rows, of one value or a few most of all.
  CORTADO_FN static RowLines whole(i64 rows, i64 width = 1) { return {rows, width, math::max(width, i64{1})}; }

  CORTADO_FN i64 blocks() const { return (width + block - 1) / block; }
  CORTADO_FN i64 lines() const { return rows * blocks(); }
  /// Values of the longest line.
  CORTADO_FN i64 most() const { return block; }
  /// The row of a line. Flat arrays and whole rows, most of all, do without a division.
  CORTADO_FN i64 row(i64 line) const { return rows == 1 ? 0 : width <= block ? line : line / blocks(); }
  /// Column of a line's first value, and how many values the line has.
  CORTADO_FN i64 first(i64 line) const {
    return rows == 1 ? line * block : width <= block ? 0 : line % blocks() * block;
  }
  CORTADO_FN i64 count(i64 line) const { return math::min(block, width - first(line)); }
  /// Place of a line's first value in the array.
  CORTADO_FN i64 at(i64 line) const { return row(line) * width + first(line); }
  CORTADO_FN LineAt where(i64 line) const { return {at(line), count(line)}; }
  /// Block `b` of row `row`, as a line.
  CORTADO_FN i64 line(i64 row, i64 b) const { return row * blocks() + b; }
};

/// Rows of which lines are any parts of up to `block` values.
struct RowParts : RowLines {
  CORTADO_FN LineAt where(i64 row, i64 first, i64 n) const { return {row * width + first, n}; }
};

/// A value of each row, which the row's lines share.
struct RowValues : RowLines {
  CORTADO_FN static i64 most() { return 1; }
  CORTADO_FN LineAt where(i64 line) const { return {row(line), 1}; }
};

}  // namespace cortado
