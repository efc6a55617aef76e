#pragma once
#include <cfloat>

#include "core/machine/math.h"
#include "core/machine/program.h"
#include "core/machine/windows.h"
#include "layers/pooling/shape.h"

namespace cortado {

/// How planes are cut where lanes are planes: a line is a band of rows of sixteen of them, whose values come with those
/// of one pixel next to each other.
struct PlaneLanes {
  static constexpr i64 lanes = 16;
  i64 planes, height, band;  ///< rows of a plane, and of a band

  CORTADO_FN i64 bands() const { return (height + band - 1) / band; }
  CORTADO_FN i64 lines() const { return (planes + lanes - 1) / lanes * bands(); }
  struct Line {
    i64 plane, planes;  ///< the first, how many there are
    i64 row, rows;
  };
  CORTADO_FN Line line(i64 i) const {
    const i64 plane = i / bands() * lanes, row = i % bands() * band;
    return {plane, math::min(lanes, planes - plane), row, math::min(band, height - row)};
  }
};

/// Rows [first, first + rows) of the planes of a line, from `array` of height x width planes, turned; zero outside.
template <class T>
CORTADO_FN Box<T> plane_rows(const T* array, i64 planes, i64 height, i64 width, const PlaneLanes::Line& at, i64 first,
                             i64 rows) {
  Box<T> box;
  box.base = array;
  const i64 extent[4] = {1, height, width, planes}, pitch[4] = {0, width, 1, height * width};
  const i64 origin[4] = {0, first, 0, at.plane}, size[4] = {1, rows, width, PlaneLanes::lanes};
  box.set(extent, pitch, origin, size);
  return box;
}

/// y = largest (and mask = its index, as MaxPoolForward) or average input under the window.
template <bool largest, class T>
struct PoolPlanesForward {
  static constexpr const char* label = largest ? "max_pool_planes" : "average_pool_planes";
  PoolShape shape;
  PlaneLanes cut;  ///< of the output
  const T* x;
  T* y;
  int* mask;
  Buf in, out, out_mask;

  CORTADO_FN i64 input_rows() const { return (cut.band - 1) * shape.sh + shape.kh; }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PoolPlanesForward p = *this;
    c.lines(
        p.cut.lines(), Depth::one,
        [&](i64 i) {
          const auto at = p.cut.line(i);
          return c.stage(p.in, plane_rows(p.x, p.shape.planes, p.shape.h, p.shape.w, at,
                                          at.row * p.shape.sh - p.shape.ph, p.input_rows()));
        },
        [&](i64 i, auto& x) {
          const auto at = p.cut.line(i);
          const i64 ow = p.shape.ow, pixels = at.rows * ow, plane = p.shape.oh * ow,
                    first = at.plane * plane + at.row * ow;
          auto y = c.out_turned(p.out, p.y + first, pixels, PlaneLanes::lanes, plane, at.planes);
          if constexpr (largest) {
            auto who = c.out_turned(p.out_mask, p.mask + first, pixels, PlaneLanes::lanes, plane, at.planes);
            c.each2d(Range{0, pixels}, Range{0, PlaneLanes::lanes}, [&](i64 o, i64 lane) {
              y.set(o, lane, -FLT_MAX);
              who.set(o, lane, -1);
            });
            p.visit(c, at, x, [&](i64 o, i64 lane, auto value, int index) {
              const auto old = y.at(o, lane);
              const auto better = value > old;
              y.set(o, lane, math::select(better, value, old));
              who.set(o, lane, math::select(better, index, who.at(o, lane)));
            });
            c.put(who);
          } else {
            c.each2d(Range{0, pixels}, Range{0, PlaneLanes::lanes}, [&](i64 o, i64 lane) { y.set(o, lane, 0.0f); });
            p.visit(c, at, x, [&](i64 o, i64 lane, auto value, int) { y.set(o, lane, y.at(o, lane) + value); });
            for (i64 o = 0; o < pixels; ++o) {
              const int size = p.shape.window_size(static_cast<int>(at.row + o / ow), static_cast<int>(o % ow));
              const float divisor = static_cast<float>(math::max(1, size));
              c.each(PlaneLanes::lanes, [&](i64 lane) { y.set(o, lane, y.at(o, lane) / divisor); });
            }
          }
          c.put(y);
        });
  }

 private:
  /// f(output, lane, value, index in the plane) for the inputs under every window, in row-major order.
  template <class C, class X, class F>
  CORTADO_FN void visit(C& c, const PlaneLanes::Line& at, const X& x, F f) const {
    const i64 w = shape.w, ow = shape.ow, stride = shape.sw;
    for (i64 r = 0; r < at.rows; ++r)
      for (i64 ky = 0; ky < shape.kh; ++ky) {
        const i64 row = r * shape.sh + ky, iy = at.row * shape.sh - shape.ph + row;
        if (iy < 0 || iy >= shape.h) continue;
        for (i64 kx = 0; kx < shape.kw; ++kx) {
          const Range inside = outputs_inside(kx - shape.pw, stride, w, ow);
          const i64 column = kx - shape.pw;
          c.each2d(Range{r * ow + inside.first, r * ow + inside.end}, Range{0, PlaneLanes::lanes},
                   [&](i64 o, i64 lane) {
                     const i64 ix = (o - r * ow) * stride + column;
                     f(o, lane, x(row * w + ix, lane), static_cast<int>(iy * w + ix));
                   });
        }
      }
  }
};

/// dx = sum of dy over the windows whose largest input this is, or of dy / window_size over those that hold it.
template <bool largest, class T>
struct PoolPlanesBackward {
  static constexpr const char* label = largest ? "max_pool_planes_backward" : "average_pool_planes_backward";
  PoolShape shape;
  PlaneLanes cut;  ///< of the input
  const T* dy;
  const int* mask;
  T* dx;
  Buf in, in_mask, out;

  /// Rows of windows that may hold a band's inputs; the first may lie before the first output.
  CORTADO_FN i64 window_rows() const { return (cut.band + shape.kh - 2) / shape.sh + 1; }
  CORTADO_FN i64 first_window(i64 row) const {
    const i64 at = row + shape.ph - shape.kh + 1;
    return at >= 0 ? (at + shape.sh - 1) / shape.sh : -((-at) / shape.sh);
  }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PoolPlanesBackward p = *this;
    c.lines(
        p.cut.lines(), Depth::one,
        [&](i64 i) {
          const auto at = p.cut.line(i);
          const i64 first = p.first_window(at.row);
          const auto of = [&](auto* array) {
            return plane_rows(array, p.shape.planes, p.shape.oh, p.shape.ow, at, first, p.window_rows());
          };
          if constexpr (largest)
            return both(c.stage(p.in, of(p.dy)), c.stage(p.in_mask, of(p.mask)));
          else
            return both(c.stage(p.in, of(p.dy)), 0);
        },
        [&](i64 i, auto& in) {
          const auto at = p.cut.line(i);
          const i64 w = p.shape.w, pixels = at.rows * w, plane = p.shape.h * w;
          auto dx =
              c.out_turned(p.out, p.dx + at.plane * plane + at.row * w, pixels, PlaneLanes::lanes, plane, at.planes);
          c.each2d(Range{0, pixels}, Range{0, PlaneLanes::lanes}, [&](i64 r, i64 lane) { dx.set(r, lane, 0.0f); });
          p.visit(at, [&](i64 window, i64 pixel, int index, int size) {
            if constexpr (largest) {
              static_cast<void>(size);
              c.each(PlaneLanes::lanes, [&](i64 lane) {
                const auto old = dx.at(pixel, lane);
                dx.set(pixel, lane, math::select(in.second(window, lane) == index, old + in.first(window, lane), old));
              });
            } else {
              static_cast<void>(index);
              const float divisor = static_cast<float>(size);
              c.each(PlaneLanes::lanes,
                     [&](i64 lane) { dx.set(pixel, lane, dx.at(pixel, lane) + in.first(window, lane) / divisor); });
            }
          });
          c.put(dx);
        });
  }

 private:
  /// f(window, pixel, index of the pixel in its plane, window's size) for every window and the band's inputs that it
  /// holds, both counted from the first that came; windows in row-major order.
  template <class F>
  CORTADO_FN void visit(const PlaneLanes::Line& at, F f) const {
    const i64 first = first_window(at.row);
    for (i64 r = math::max(i64{0}, -first); r < window_rows() && first + r < shape.oh; ++r)
      for (i64 ox = 0; ox < shape.ow; ++ox) {
        const i64 y0 = (first + r) * shape.sh - shape.ph, x0 = ox * shape.sw - shape.pw;
        const int size = shape.window_size(static_cast<int>(first + r), static_cast<int>(ox));
        for (i64 iy = math::max(at.row, y0); iy < math::min(at.row + at.rows, y0 + shape.kh); ++iy)
          for (i64 ix = math::max(i64{0}, x0); ix < math::min(i64{shape.w}, x0 + shape.kw); ++ix)
            f(r * shape.ow + ox, (iy - at.row) * shape.w + ix, static_cast<int>(iy * shape.w + ix), size);
      }
  }
};

}  // namespace cortado
