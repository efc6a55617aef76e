#pragma once
#include "core/machine/copy_lines.h"

namespace cortado {

/// The most axes of an array that is cut by axes.
constexpr int most_axes = 8;

/// Axes, outermost first. Values of an axis lie `pitch` apart; unused axes in front have size 1.
struct Axes {
  i64 size[most_axes], pitch[most_axes];

  /// The begin of element number `i` of the first `count` axes.
  CORTADO_FN i64 at(i64 i, int count) const {
    i64 place = 0;
    for (int d = count - 1; d >= 0; --d) {
      place += i % size[d] * pitch[d];
      i /= size[d];
    }
    return place;
  }
};

/// Rows along the last axis, whose values are neighbours. The other axes count them.
struct AxisLines : RowLines {
  Axes axes;
  CORTADO_FN LineAt where(i64 line) const { return {axes.at(row(line), most_axes - 1) + first(line), count(line)}; }
};

/// Planes of the last two axes. Values of one of these are neighbours: it is the one along a line's rows. A line is a
/// tile of `tile_rows` along the first of them x `tile_cols` along the second.
struct PlaneTiles {
  Axes axes;
  i64 planes, tile_rows, tile_cols;

  static constexpr int row_axis = most_axes - 2, col_axis = most_axes - 1;
  CORTADO_FN i64 row_tiles() const { return (axes.size[row_axis] + tile_rows - 1) / tile_rows; }
  CORTADO_FN i64 col_tiles() const { return (axes.size[col_axis] + tile_cols - 1) / tile_cols; }
  CORTADO_FN i64 lines() const { return planes * row_tiles() * col_tiles(); }
  CORTADO_FN i64 most() const { return tile_rows * tile_cols; }
  CORTADO_FN BlockAt where(i64 line) const {
    const i64 row_pitch = axes.pitch[row_axis], col_pitch = axes.pitch[col_axis];
    const i64 col = line % col_tiles() * tile_cols, row = line / col_tiles() % row_tiles() * tile_rows;
    const i64 at = axes.at(line / col_tiles() / row_tiles(), row_axis) + row * row_pitch + col * col_pitch;
    const i64 rows = math::min(tile_rows, axes.size[row_axis] - row),
              cols = math::min(tile_cols, axes.size[col_axis] - col);
    return col_pitch == 1 ? BlockAt{at, rows, cols, row_pitch} : BlockAt{at, cols, rows, col_pitch};
  }
};

/// to = from, where values along the planes' second axis are neighbours in `to`, and along the first in `from`.
struct TurnPlanes {
  static constexpr const char* label = "turn_planes";
  View<PlaneTiles, const float> from;
  View<PlaneTiles, float> to;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const TurnPlanes p = *this;
    each_line(c, p.from, [&](i64 i, auto& from) {
      auto to = p.to.out(c, i);
      c.each2d(from.cols, from.rows, [&](i64 row, i64 col) { to.set(row, col, from(col, row)); });
      c.put(to);
    });
  }
};

}  // namespace cortado
