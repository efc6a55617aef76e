#pragma once
#include "core/machine/row_lines.h"
#include "core/machine/sums.h"

namespace cortado {

/// Rows, each repeated `tiles` times in a row.
struct TiledRows : RowLines {
  i64 tiles;
  CORTADO_FN i64 repeated(i64 line, i64 tile) const { return (row(line) * tiles + tile) * width + first(line); }
};

/// y (rows x tiles x width) = x (rows x width), repeated.
struct TileForward {
  static constexpr const char* label = "tile_forward";
  TiledRows s;
  const float* x;
  float* y;
  Buf x_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const TileForward p = *this;
    const auto fetch = [&](i64 i) { return p.s.get(c, p.x_buf, p.x, i); };
    c.lines(p.s.lines(), Depth::two, fetch, [&](i64 i, auto& x) {
      for (i64 t = 0; t < p.s.tiles; ++t) {
        auto y = c.out(p.y_buf, p.y + p.s.repeated(i, t), x.n);
        c.each(x.n, [&](i64 j) { y.set(j, x[j]); });
        c.put(y);
      }
    });
  }
};

/// dx (rows x width) = the sum of dy (rows x tiles x width) over tiles.
struct TileBackward {
  static constexpr const char* label = "tile_backward";
  TiledRows s;
  const float* dy;
  float* dx;
  Buf dy_buf, dx_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const TileBackward p = *this;
    each_line(c, p.s.lines(), [&](i64 i) {
      auto dx = p.s.out(c, p.dx_buf, p.dx, i);
      c.each(dx.n, [&](i64 j) { dx.set(j, 0.0f); });
      c.pipeline(
          p.s.tiles, Depth::two, [&](i64 t) { return c.get(p.dy_buf, p.dy + p.s.repeated(i, t), p.s.count(i)); },
          [&](i64, auto& dy) { c.each(dy.n, [&](i64 j) { dx.set(j, dx.at(j) + dy[j]); }); });
      c.put(dx);
    });
  }
};

}  // namespace cortado
