#pragma once
#include "core/machine/gather.h"
#include "core/machine/math.h"
#include "core/machine/sums.h"

namespace cortado {

/// `out` points spread evenly over `in` points, the first on the first and the last on the last. Point o lies between
/// the points below(o) and above(o), by the part weight(o) of the way.
struct Stretch {
  i64 in, out;
  float step;  ///< (in - 1) / (out - 1); 0 where there is one point

  CORTADO_FN i64 below(i64 o) const { return math::min(static_cast<i64>(step * static_cast<float>(o)), in - 1); }
  CORTADO_FN i64 above(i64 o) const { return math::min(below(o) + 1, in - 1); }
  CORTADO_FN float weight(i64 o) const { return step * static_cast<float>(o) - static_cast<float>(below(o)); }
  /// The part that input i has in output o.
  CORTADO_FN float part(i64 i, i64 o) const {
    return (below(o) == i ? 1.0f - weight(o) : 0.0f) + (above(o) == i ? weight(o) : 0.0f);
  }
  /// The first output that does not lie below input i; `out` if there is none.
  CORTADO_FN i64 first(i64 i) const {
    if (i <= 0) return 0;
    if (!(step > 0.0f)) return out;
    i64 o = math::min(static_cast<i64>(static_cast<float>(i) / step), out);
    while (o > 0 && below(o - 1) >= i) --o;
    while (o < out && below(o) < i) ++o;
    return o;
  }
  /// Outputs [begin, end) in which inputs [first, first + n) have a part.
  CORTADO_FN i64 begin(i64 first_input) const { return first(first_input - 1); }
  CORTADO_FN i64 end(i64 first_input, i64 n) const { return first(first_input + n); }
};

/// Planes that are stretched along both axes. Inputs are a window of larger planes, in which it begins at
/// `offset` and rows lie in_pitch apart.
/// Lines are blocks of rows of what is made.
struct StretchedPlanes {
  i64 planes;
  Stretch rows, cols;
  i64 in_pitch, in_plane, offset;
  i64 block;

  CORTADO_FN i64 input(i64 plane, i64 row, i64 col) const { return plane * in_plane + offset + row * in_pitch + col; }
};

/// y = x, stretched.
struct InterpForward {
  static constexpr const char* label = "interp_forward";
  StretchedPlanes s;
  const float* x;
  float* y;
  Buf upper_buf, lower_buf, y_buf;

  CORTADO_FN i64 blocks() const { return (s.cols.out + s.block - 1) / s.block; }
  CORTADO_FN i64 lines() const { return s.planes * s.rows.out * blocks(); }

  struct Line {
    i64 plane, row, first, n;  // of outputs
    i64 input, inputs;         // the columns that they lie between
  };
  CORTADO_FN Line line(i64 i) const {
    Line l{};
    l.first = i % blocks() * s.block;
    l.n = math::min(s.block, s.cols.out - l.first);
    l.row = i / blocks() % s.rows.out;
    l.plane = i / blocks() / s.rows.out;
    l.input = s.cols.below(l.first);
    l.inputs = s.cols.above(l.first + l.n - 1) + 1 - l.input;
    return l;
  }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const InterpForward p = *this;
    const auto fetch = [&](i64 i) {
      const Line l = p.line(i);
      return gather(c.get(p.upper_buf, p.x + p.s.input(l.plane, p.s.rows.below(l.row), l.input), l.inputs),
                    c.get(p.lower_buf, p.x + p.s.input(l.plane, p.s.rows.above(l.row), l.input), l.inputs));
    };
    const auto work = named([&](i64 i, auto upper, auto lower) {
      const Line l = p.line(i);
      const Stretch cols = p.s.cols;
      const float down = p.s.rows.weight(l.row);
      auto y = c.out(p.y_buf, p.y + (l.plane * p.s.rows.out + l.row) * cols.out + l.first, l.n);
      c.each(l.n, [&](i64 j) {
        const i64 o = l.first + j, left = cols.below(o) - l.input, right = cols.above(o) - l.input;
        const float along = cols.weight(o);
        y.set(j, (1.0f - down) * ((1.0f - along) * upper[left] + along * upper[right]) +
                     down * ((1.0f - along) * lower[left] + along * lower[right]));
      });
      c.put(y);
    });
    c.lines(p.lines(), Depth::two, fetch, work);
  }
};

/// dx = the sum of dy, by the parts that inputs have in outputs. Outputs of a row come in pieces of `piece`.
struct InterpBackward {
  static constexpr const char* label = "interp_backward";
  StretchedPlanes s;
  i64 piece;
  const float* dy;
  float* dx;
  Buf dy_buf, dx_buf;

  CORTADO_FN i64 blocks() const { return (s.cols.in + s.block - 1) / s.block; }
  CORTADO_FN i64 lines() const { return s.planes * s.rows.in * blocks(); }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const InterpBackward p = *this;
    each_line(c, p.lines(), [&](i64 i) {
      const Stretch rows = p.s.rows, cols = p.s.cols;
      const i64 first = i % p.blocks() * p.s.block, n = math::min(p.s.block, cols.in - first);
      const i64 row = i / p.blocks() % rows.in, plane = i / p.blocks() / rows.in;
      const i64 top = rows.begin(row), bottom = rows.end(row, 1);
      const i64 left = cols.begin(first), right = cols.end(first, n);
      const i64 pieces = (right - left + p.piece - 1) / p.piece;
      const auto begin = [&](i64 k) { return left + k % pieces * p.piece; };
      auto dx = c.out(p.dx_buf, p.dx + p.s.input(plane, row, first), n);
      c.each(n, [&](i64 j) { dx.set(j, 0.0f); });
      c.pipeline((bottom - top) * pieces, Depth::two,
                 [&](i64 k) {
                   const i64 output = top + k / pieces;
                   return c.get(p.dy_buf, p.dy + (plane * rows.out + output) * cols.out + begin(k),
                                math::min(p.piece, right - begin(k)));
                 },
                 [&](i64 k, auto& dy) {
                   const float down = rows.part(row, top + k / pieces);
                   const i64 from = begin(k), to = from + dy.n;
                   c.each(n, [&](i64 j) {
                     const i64 input = first + j, end = math::min(to, cols.end(input, 1));
                     auto sum = dx.at(j);
                     for (i64 o = math::max(from, cols.begin(input)); o < end; ++o)
                       sum = sum + down * cols.part(input, o) * dy[o - from];
                     dx.set(j, sum);
                   });
                 });
      c.put(dx);
    });
  }
};

}  // namespace cortado
