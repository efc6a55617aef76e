#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// Rows of `width` values, each repeated `tiles` times in a row; cut into blocks.
struct TiledRows {
  i64 rows, tiles, width, block;
  CORTADO_FN i64 blocks() const { return (width + block - 1) / block; }
  CORTADO_FN i64 lines() const { return rows * blocks(); }
  CORTADO_FN i64 one(i64 line) const { return line / blocks() * width + line % blocks() * block; }
  CORTADO_FN i64 repeated(i64 line, i64 tile) const {
    return (line / blocks() * tiles + tile) * width + line % blocks() * block;
  }
  CORTADO_FN i64 count(i64 line) const { return math::min(block, width - line % blocks() * block); }
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
    c.lines(
        p.s.lines(), Depth::two, [&](i64 i) { return c.get(p.x_buf, p.x + p.s.one(i), p.s.count(i)); },
        [&](i64 i, auto& x) {
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
    c.lines(
        p.s.lines(), Depth::one, [&](i64 i) { return i; },
        [&](i64 i, i64&) {
          auto dx = c.out(p.dx_buf, p.dx + p.s.one(i), p.s.count(i));
          c.each(dx.n, [&](i64 j) { dx.set(j, 0.0f); });
          c.pipeline(
              p.s.tiles, Depth::two, [&](i64 t) { return c.get(p.dy_buf, p.dy + p.s.repeated(i, t), p.s.count(i)); },
              [&](i64, auto& dy) { c.each(dy.n, [&](i64 j) { dx.set(j, dx.at(j) + dy[j]); }); });
          c.put(dx);
        });
  }
};

}  // namespace cortado
