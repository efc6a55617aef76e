#pragma once
#include "core/machine/view.h"

namespace cortado {

/// Rows, each repeated `tiles` times in a row.
struct TiledRows : RowLines {
  i64 tiles;
  CORTADO_FN LineAt where(i64 line, i64 tile) const {
    return {(row(line) * tiles + tile) * width + first(line), count(line)};
  }
};

/// y (rows x tiles x width) = x (rows x width), repeated.
struct TileForward {
  static constexpr const char* label = "tile_forward";
  Lines<const float> x;
  View<TiledRows, float> y;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const TileForward p = *this;
    each_line(c, p.x, [&](i64 i, auto& x) {
      for (i64 t = 0; t < p.y.cut.tiles; ++t) {
        auto y = p.y.out(c, i, t);
        c.each(x.n, [&](i64 j) { y.set(j, x[j]); });
        c.put(y);
      }
    });
  }
};

/// dx (rows x width) = the sum of dy (rows x tiles x width) over tiles.
struct TileBackward {
  static constexpr const char* label = "tile_backward";
  View<TiledRows, const float> dy;
  Lines<float> dx;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const TileBackward p = *this;
    each_line(c, p.dx.lines(), [&](i64 i) {
      auto dx = p.dx.out(c, i);
      c.each(dx.n, [&](i64 j) { dx.set(j, 0.0f); });
      c.pipeline(
          p.dy.cut.tiles, Depth::two, [&](i64 t) { return p.dy.get(c, i, t); },
          [&](i64, auto& dy) { c.each(dy.n, [&](i64 j) { dx.set(j, dx.at(j) + dy[j]); }); });
      c.put(dx);
    });
  }
};

}  // namespace cortado
