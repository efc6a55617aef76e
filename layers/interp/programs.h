#pragma once
#include "core/machine/view.h"

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

/// A window of planes: a plane's rows lie `pitch` apart, and the window begins at `offset`. Its rows are those of all
/// planes. A line may begin anywhere.
struct WindowRows : RowLines {
  i64 plane_pitch, pitch, offset;
  CORTADO_FN LineAt where(i64 plane, i64 row, i64 col, i64 n) const {
    return {plane * plane_pitch + offset + row * pitch + col, n};
  }
};

/// y = x, stretched.
struct InterpForward {
  static constexpr const char* label = "interp_forward";
  Stretch rows, cols;
  View<WindowRows, const float> upper, lower;  ///< x, whose rows around an output's
  Lines<float> y;

  struct Line {
    i64 plane, row, first, n;  // of outputs
    i64 input, inputs;         // the columns that they lie between
  };
  CORTADO_FN Line line(i64 i) const {
    Line l{};
    l.first = y.cut.first(i);
    l.n = y.cut.count(i);
    l.row = y.cut.row(i) % rows.out;
    l.plane = y.cut.row(i) / rows.out;
    l.input = cols.below(l.first);
    l.inputs = cols.above(l.first + l.n - 1) + 1 - l.input;
    return l;
  }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const InterpForward p = *this;
    const auto fetch = [&](i64 i) {
      const Line l = p.line(i);
      return gather(p.upper.get(c, l.plane, p.rows.below(l.row), l.input, l.inputs),
                    p.lower.get(c, l.plane, p.rows.above(l.row), l.input, l.inputs));
    };
    const auto work = named([&](i64 i, auto upper, auto lower) {
      const Line l = p.line(i);
      const Stretch cols = p.cols;
      const float down = p.rows.weight(l.row);
      auto y = p.y.out(c, i);
      c.each(l.n, [&](i64 j) {
        const i64 o = l.first + j, left = cols.below(o) - l.input, right = cols.above(o) - l.input;
        const float along = cols.weight(o);
        y.set(j, (1.0f - down) * ((1.0f - along) * upper[left] + along * upper[right]) +
                     down * ((1.0f - along) * lower[left] + along * lower[right]));
      });
      c.put(y);
    });
    c.lines(p.y.lines(), Depth::two, fetch, work);
  }
};

/// dx = the sum of dy, by the parts that inputs have in outputs: rows of outputs add up first, then their columns.
struct InterpBackward {
  static constexpr const char* label = "interp_backward";
  Stretch rows, cols;
  View<RowParts, const float> dy;
  View<WindowRows, float> dx;
  Buf sums_buf;  ///< as many values as a line of dy

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const InterpBackward p = *this;
    each_line(c, p.dx.lines(), [&](i64 i) {
      const Stretch rows = p.rows, cols = p.cols;
      const i64 first = p.dx.cut.first(i), n = p.dx.cut.count(i), most = p.dy.cut.block;
      const i64 row = p.dx.cut.row(i) % rows.in, plane = p.dx.cut.row(i) / rows.in;
      const i64 top = rows.begin(row), bottom = rows.end(row, 1);
      const i64 left = cols.begin(first), right = cols.end(first, n);
      auto dx = p.dx.out(c, plane, row, first, n);
      auto sums = c.template block<float>(p.sums_buf, 1, most);
      c.each(n, [&](i64 j) { dx.set(j, 0.0f); });
      for (i64 from = left; from < right && top < bottom; from += most) {
        const i64 to = math::min(from + most, right);
        c.pipeline(
            bottom - top, Depth::two, [&](i64 k) { return p.dy.get(c, plane * rows.out + top + k, from, to - from); },
            [&](i64 k, auto& dy) {
              const float down = rows.part(row, top + k);
              if (k == 0) return c.each(dy.n, [&](i64 j) { sums.set(0, j, down * dy[j]); });
              c.each(dy.n, [&](i64 j) { sums.set(0, j, sums.at(0, j) + down * dy[j]); });
            });
        c.each(n, [&](i64 j) {
          const i64 input = first + j, end = math::min(to, cols.end(input, 1));
          auto sum = dx.at(j);
          for (i64 o = math::max(from, cols.begin(input)); o < end; ++o)
            sum = sum + cols.part(input, o) * sums.at(0, o - from);
          dx.set(j, sum);
        });
      }
      c.put(dx);
    });
  }
};

}  // namespace cortado
