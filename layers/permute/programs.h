#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// The axes of a move of values.
constexpr int move_axes = 8;

/// Axes of an array in the order of the destination, outermost first; values of an axis lie `from` apart in the source
/// and `to` in the destination. Unused axes in front have size 1.
struct MovedAxes {
  i64 size[move_axes], from[move_axes], to[move_axes];

  /// The begin of element number `i` of the first `axes` axes, in both arrays.
  struct Place {
    i64 from, to;
  };
  CORTADO_FN Place place(i64 i, int axes) const {
    Place at{0, 0};
    for (int d = axes - 1; d >= 0; --d) {
      const i64 k = i % size[d];
      at.from += k * from[d];
      at.to += k * to[d];
      i /= size[d];
    }
    return at;
  }
};

/// Copies lines of the last axis, whose values are neighbours in both arrays; the rest of the axes counts lines, which
/// are cut into blocks.
struct MoveLines {
  static constexpr const char* label = "move_lines";
  MovedAxes axes;
  i64 rows, block;
  const float* from;
  float* to;
  Buf from_buf, to_buf;

  CORTADO_FN i64 width() const { return axes.size[move_axes - 1]; }
  CORTADO_FN i64 blocks() const { return (width() + block - 1) / block; }
  CORTADO_FN i64 lines() const { return rows * blocks(); }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const MoveLines p = *this;
    const auto fetch = [&](i64 i) {
      const i64 first = i % p.blocks() * p.block;
      const auto at = p.axes.place(i / p.blocks(), move_axes - 1);
      return c.get(p.from_buf, p.from + at.from + first, math::min(p.block, p.width() - first));
    };
    c.lines(p.lines(), Depth::two, fetch, [&](i64 i, auto& from) {
      const auto at = p.axes.place(i / p.blocks(), move_axes - 1);
      auto to = c.out(p.to_buf, p.to + at.to + i % p.blocks() * p.block, from.n);
      c.each(from.n, [&](i64 j) { to.set(j, from[j]); });
      c.put(to);
    });
  }
};

/// Turns planes: of the last two axes, values of the first are neighbours in the source and values of the last in the
/// destination. A line is a tile of `tile_rows` x `tile_cols` of them.
struct TurnPlanes {
  static constexpr const char* label = "turn_planes";
  MovedAxes axes;
  i64 planes, tile_rows, tile_cols;
  const float* from;
  float* to;
  Buf from_buf, to_buf;

  static constexpr int row_axis = move_axes - 2, col_axis = move_axes - 1;
  CORTADO_FN i64 row_tiles() const { return (axes.size[row_axis] + tile_rows - 1) / tile_rows; }
  CORTADO_FN i64 col_tiles() const { return (axes.size[col_axis] + tile_cols - 1) / tile_cols; }
  CORTADO_FN i64 lines() const { return planes * row_tiles() * col_tiles(); }

  struct Tile {
    i64 from, to, rows, cols;
  };
  CORTADO_FN Tile tile(i64 line) const {
    const i64 col = line % col_tiles() * tile_cols, row = line / col_tiles() % row_tiles() * tile_rows;
    const auto plane = axes.place(line / col_tiles() / row_tiles(), row_axis);
    return {plane.from + row + col * axes.from[col_axis], plane.to + row * axes.to[row_axis] + col,
            math::min(tile_rows, axes.size[row_axis] - row), math::min(tile_cols, axes.size[col_axis] - col)};
  }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const TurnPlanes p = *this;
    const auto fetch = [&](i64 i) {
      const Tile t = p.tile(i);
      return c.get2d(p.from_buf, p.from + t.from, t.cols, t.rows, p.axes.from[col_axis]);
    };
    c.lines(p.lines(), Depth::two, fetch, [&](i64 i, auto& from) {
      const Tile t = p.tile(i);
      auto to = c.out2d(p.to_buf, p.to + t.to, t.rows, t.cols, p.axes.to[row_axis]);
      c.each2d(t.rows, t.cols, [&](i64 row, i64 col) { to.set(row, col, from(col, row)); });
      c.put(to);
    });
  }
};

}  // namespace cortado
