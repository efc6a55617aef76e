#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"
#include "core/machine/sums.h"

namespace cortado {

/// Whole planes of `count` values, in lines of `line_planes` planes; planes longer than a scratchpad in pieces.
struct PlanePieces {
  i64 planes, count, line_planes, piece;

  CORTADO_FN i64 groups() const { return (planes + line_planes - 1) / line_planes; }
  CORTADO_FN i64 pieces() const { return (count + piece - 1) / piece; }
  CORTADO_FN i64 group_planes(i64 g) const { return math::min(line_planes, planes - g * line_planes); }
  CORTADO_FN i64 piece_count(i64 j) const { return math::min(piece, count - j * piece); }
  CORTADO_FN i64 offset(i64 g, i64 j) const { return g * line_planes * count + j * piece; }
};

/// Average over whole planes, one window each: y[p] = sum of plane p / divisor.
template <class T>
struct PlaneAverageForward {
  static constexpr const char* label = "plane_average_forward";
  PlanePieces at;
  const T* x;
  T* y;
  float divisor;
  Buf in, out;
  Depth depth;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const auto fetch = [](i64 g) { return g; };
    c.lines(at.groups(), Depth::one, fetch, [&](i64, i64 g) {
      auto q = c.out(out, y + g * at.line_planes, at.group_planes(g));
      c.each(q.n, [&](i64 p) { q.set(p, 0.0f); });
      c.pipeline(
          at.pieces(), depth, [&](i64 j) { return c.get2d(in, x + at.offset(g, j), q.n, at.piece_count(j), at.count); },
          [&](i64, auto& block) {
            for (i64 p = 0; p < block.rows; ++p) {
              const auto sum = sum_of(c, block.cols, [&](i64 i) { return block(p, i); });
              c.once([&] { q.set(p, q.at(p) + sum); });
            }
          });
      c.each(q.n, [&](i64 p) { q.set(p, q.at(p) / divisor); });
      c.put(q);
    });
  }
};

/// dx = dy[p] / divisor all over plane p.
template <class T>
struct PlaneAverageBackward {
  static constexpr const char* label = "plane_average_backward";
  PlanePieces at;
  const T* dy;
  T* dx;
  float divisor;
  Buf in, out;
  Depth depth;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const auto fetch = [&](i64 i) {
      const i64 g = i / at.pieces();
      return c.get(in, dy + g * at.line_planes, at.group_planes(g));
    };
    c.lines(at.groups() * at.pieces(), depth, fetch, [&](i64 i, auto& line) {
      const i64 j = i % at.pieces(), cols = at.piece_count(j);
      auto q = c.out2d(out, dx + at.offset(i / at.pieces(), j), line.n, cols, at.count);
      c.each2d(line.n, cols, [&](i64 p, i64 e) { q.set(p, e, line[p] / divisor); });
      c.put(q);
    });
  }
};

}  // namespace cortado
