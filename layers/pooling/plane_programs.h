#pragma once
#include <cfloat>

#include "core/machine/channel_lanes.h"
#include "core/machine/gather.h"
#include "core/machine/math.h"
#include "core/machine/program.h"
#include "layers/pooling/windows.h"

namespace cortado {

/// The cut of planes where lanes are planes: a line is a band of rows of sixteen of them, whose values come with those
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
CORTADO_FN Box<T> plane_rows(const T* array, Layout layout, i64 height, i64 width, const PlaneLanes::Line& at,
                             i64 first, i64 rows) {
  return channel_lanes(array + at.plane * height * width, layout, height, width, at.planes, {first, first + rows},
                       {0, width});
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
    const auto fetch = [&](i64 i) {
      const auto at = p.cut.line(i);
      return c.stage(p.in, plane_rows(p.x, p.shape.layout, p.shape.h, p.shape.w, at, at.row * p.shape.sh - p.shape.ph,
                                      p.input_rows()));
    };
    c.lines(p.cut.lines(), Depth::one, fetch, [&](i64 i, auto& x) {
      if (p.shape.layout == Layout::nchw16c)
        p.pool<true>(c, p.cut.line(i), x);
      else
        p.pool<false>(c, p.cut.line(i), x);
    });
  }

 private:
  template <bool blocks, class C, class X>
  CORTADO_FN void pool(C& c, const PlaneLanes::Line& at, const X& x) const {
    const i64 pixels = at.rows * shape.ow, plane = i64{shape.oh} * shape.ow,
              first = at.plane * plane + at.row * shape.ow * channel_block(shape.layout);
    auto results = out_lanes<blocks>(c, out, y + first, pixels, plane, at.planes);
    if constexpr (largest) {
      auto who = out_lanes<blocks>(c, out_mask, mask + first, pixels, plane, at.planes);
      visit_windows(c, at, x, results, [&](i64 o, i64 lane, int index) { who.set(o, lane, index); });
      c.put(who);
    } else {
      visit_windows(c, at, x, results, [](i64, i64, int) {});
    }
    c.put(results);
  }

  /// Output by output, in registers: what is stored as bf16 is rounded once. tell(output, lane, index of the largest).
  template <class C, class X, class Y, class Tell>
  CORTADO_FN void visit_windows(C& c, const PlaneLanes::Line& at, const X& x, Y& results, Tell tell) const {
    const PoolShape& s = shape;
    const i64 first = at.row * s.sh - s.ph;  // the row that came first
    for (i64 row = 0; row < at.rows; ++row)
      for (i64 col = 0; col < s.ow; ++col) {
        const i64 y0 = first + row * s.sh, x0 = col * s.sw - s.pw, o = row * s.ow + col;
        const Window window{{math::max(y0, i64{0}) - first, math::min(y0 + s.kh, i64{s.h}) - first},
                            {math::max(x0, i64{0}), math::min(x0 + s.kw, i64{s.w})},
                            first,
                            s.w};
        const bool is_square = s.kh == s.kw && window.rows.count() > 0 && window.cols.count() > 0;
        if (largest && is_square && s.kh == 3)
          largest_of<3>(c, window, x, results, tell, o);
        else if (largest && is_square && s.kh == 2)
          largest_of<2>(c, window, x, results, tell, o);
        else
          any_window(c, window, s.window_size(static_cast<int>(at.row + row), static_cast<int>(col)), x, results, tell,
                     o);
      }
  }

  /// Rows, of those that came, and columns of a window, as far as they are inside.
  struct Window {
    Range rows, cols;
    i64 first, width;  ///< the plane's row that came first, and its columns
    CORTADO_FN i64 place(i64 row, i64 col) const { return row * width + col; }
    CORTADO_FN int index(i64 row, i64 col) const { return static_cast<int>((row + first) * width + col); }
  };

  /// A window of up to k x k inputs, in registers. Its last row and column stand for those beyond them: they change
  /// nothing.
  template <int k, class C, class X, class Y, class Tell>
  CORTADO_FN void largest_of(C& c, const Window& window, const X& x, Y& results, Tell tell, i64 o) const {
    i64 place[k * k];
    int index[k * k];
    for (int i = 0; i < k * k; ++i) {
      const i64 row = math::min(window.rows.first + i / k, window.rows.end - 1),
                col = math::min(window.cols.first + i % k, window.cols.end - 1);
      place[i] = window.place(row, col), index[i] = window.index(row, col);
    }
    c.each(PlaneLanes::lanes, [&](i64 lane) {
      decltype(x(0, 0)) best(-FLT_MAX);
      int who = -1;
      CORTADO_UNROLL
      for (int i = 0; i < k * k; ++i) {
        const auto value = x(place[i], lane);
        const auto better = value > best;
        best = math::select(better, value, best);
        who = math::select(better, index[i], who);
      }
      results.set(o, lane, best);
      tell(o, lane, who);
    });
  }

  template <class C, class X, class Y, class Tell>
  CORTADO_FN void any_window(C& c, const Window& window, int size, const X& x, Y& results, Tell tell, i64 o) const {
    const float start = largest ? -FLT_MAX : 0.0f;
    decltype(x(0, 0)) result[PlaneLanes::lanes];  // each lane's own
    int index[PlaneLanes::lanes];
    c.each(PlaneLanes::lanes, [&](i64 lane) {
      result[lane] = start;
      index[lane] = -1;
    });
    for (i64 row = window.rows.first; row < window.rows.end; ++row)
      for (i64 col = window.cols.first; col < window.cols.end; ++col) {
        const i64 from = window.place(row, col);
        const int place = window.index(row, col);
        c.each(PlaneLanes::lanes, [&](i64 lane) {
          const auto value = x(from, lane), old = result[lane];
          if constexpr (largest) {
            const auto better = value > old;
            result[lane] = math::select(better, value, old);
            index[lane] = math::select(better, place, index[lane]);
          } else {
            result[lane] = old + value;
          }
        });
      }
    const float divisor = largest ? 1.0f : static_cast<float>(math::max(1, size));
    c.each(PlaneLanes::lanes, [&](i64 lane) {
      results.set(o, lane, result[lane] / divisor);
      tell(o, lane, index[lane]);
    });
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
    const auto fetch = [&](i64 i) {
      const auto at = p.cut.line(i);
      const i64 first = p.first_window(at.row);
      const auto of = [&](auto* array) {
        return plane_rows(array, p.shape.layout, p.shape.oh, p.shape.ow, at, first, p.window_rows());
      };
      if constexpr (largest)
        return gather(c.stage(p.in, of(p.dy)), c.stage(p.in_mask, of(p.mask)));
      else
        return gather(c.stage(p.in, of(p.dy)), 0);
    };
    const auto work = named([&](i64 i, const auto& dy, const auto& mask) {
      if (p.shape.layout == Layout::nchw16c)
        p.spread<true>(c, p.cut.line(i), dy, mask);
      else
        p.spread<false>(c, p.cut.line(i), dy, mask);
    });
    c.lines(p.cut.lines(), Depth::one, fetch, work);
  }

 private:
  template <bool blocks, class C, class Dy, class Mask>
  CORTADO_FN void spread(C& c, const PlaneLanes::Line& at, const Dy& dy, [[maybe_unused]] const Mask& mask) const {
    const PoolShape& s = shape;
    const i64 plane = i64{s.h} * s.w;
    auto gradients = out_lanes<blocks>(c, out, dx + at.plane * plane + at.row * s.w * channel_block(s.layout),
                                       at.rows * s.w, plane, at.planes);
    const i64 across = math::max((s.kh + s.sh - 1) / s.sh, (s.kw + s.sw - 1) / s.sw);  // windows over an input
    for (i64 row = 0; row < at.rows; ++row) {
      const Range rows = windows_over(at.row + row + s.ph, s.kh, i64{s.sh}, s.oh);
      with_stride(s.sw, [&](auto stride) {
        for (i64 col = 0; col < s.w; ++col) {
          const Windows windows{rows, windows_over(col + s.pw, s.kw, static_cast<i64>(stride), s.ow),
                                first_window(at.row), static_cast<int>((at.row + row) * s.w + col)};
          if (across == 1)
            collect<1>(c, windows, dy, mask, gradients, row * s.w + col);
          else if (across == 2)
            collect<2>(c, windows, dy, mask, gradients, row * s.w + col);
          else if (across == 3)
            collect<3>(c, windows, dy, mask, gradients, row * s.w + col);
          else
            collect_any(c, windows, dy, mask, gradients, row * s.w + col);
        }
      });
    }
    c.put(gradients);
  }

  /// The windows that hold an input.
  struct Windows {
    Range rows, cols;
    i64 first;  ///< the row of windows that came first
    int index;  ///< of the input in its plane
  };

  /// The gradient of an input that at most n x n windows hold, in registers.
  template <int n, class C, class Dy, class Mask, class Dx>
  CORTADO_FN void collect(C& c, const Windows& windows, const Dy& dy, [[maybe_unused]] const Mask& mask, Dx& gradients,
                          i64 pixel) const {
    i64 place[n * n];
    int wanted[n * n];
    float share[n * n];
    for (int i = 0; i < n * n; ++i) {
      const i64 oy = windows.rows.first + i / n, ox = windows.cols.first + i % n;
      const bool holds = oy < windows.rows.end && ox < windows.cols.end;
      place[i] = holds ? (oy - windows.first) * shape.ow + ox : 0;
      wanted[i] = holds ? windows.index : -2;  // no mask says so
      share[i] = holds && !largest
                     ? 1.0f / static_cast<float>(shape.window_size(static_cast<int>(oy), static_cast<int>(ox)))
                     : 0.0f;
    }
    c.each(PlaneLanes::lanes, [&](i64 lane) {
      decltype(dy(0, 0)) sum(0.0f);
      CORTADO_UNROLL
      for (int i = 0; i < n * n; ++i) {
        if constexpr (largest)
          sum = sum + math::select(mask(place[i], lane) == wanted[i], dy(place[i], lane), 0.0f);
        else
          sum = sum + share[i] * dy(place[i], lane);
      }
      gradients.set(pixel, lane, sum);
    });
  }

  template <class C, class Dy, class Mask, class Dx>
  CORTADO_FN void collect_any(C& c, const Windows& windows, const Dy& dy, [[maybe_unused]] const Mask& mask,
                              Dx& gradients, i64 pixel) const {
    decltype(dy(0, 0)) sum[PlaneLanes::lanes];  // each lane's own
    c.each(PlaneLanes::lanes, [&](i64 lane) { sum[lane] = 0.0f; });
    for (i64 oy = windows.rows.first; oy < windows.rows.end; ++oy)
      for (i64 ox = windows.cols.first; ox < windows.cols.end; ++ox) {
        const i64 window = (oy - windows.first) * shape.ow + ox;
        const int index = windows.index;
        if constexpr (largest) {
          c.each(PlaneLanes::lanes, [&](i64 lane) {  // stores whatever it finds: a store with a mask is slow to read
            sum[lane] = sum[lane] + math::select(mask(window, lane) == index, dy(window, lane), 0.0f);
          });
        } else {
          const float divisor = static_cast<float>(shape.window_size(static_cast<int>(oy), static_cast<int>(ox)));
          c.each(PlaneLanes::lanes, [&](i64 lane) { sum[lane] = sum[lane] + dy(window, lane) / divisor; });
        }
      }
    c.each(PlaneLanes::lanes, [&](i64 lane) { gradients.set(pixel, lane, sum[lane]); });
  }

  /// Windows of `kernel` places, `stride` apart, that hold place `at` of the padded axis.
  CORTADO_FN static Range windows_over(i64 at, i64 kernel, i64 stride, i64 windows) {
    return {math::max(i64{0}, at - kernel + stride) / stride, math::min(windows, at / stride + 1)};
  }
};

}  // namespace cortado
