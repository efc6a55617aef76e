#pragma once
#include <cfloat>

#include "core/machine/sums.h"
#include "layers/softmax/planes.h"

namespace cortado {

/// y = exp(x - max) / sum exp(x - max) over each of `rows` lines of `classes` values; y may be x.
struct SoftmaxRows {
  static constexpr const char* label = "softmax_rows";
  const float* x;
  float* y;
  i64 rows, classes;
  Buf x_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SoftmaxRows p = *this;
    const auto fetch = [&](i64 i) { return c.get(p.x_buf, p.x + i * p.classes, p.classes); };
    c.lines(p.rows, Depth::two, fetch, [&](i64 i, auto& x) {
      auto y = c.out(p.y_buf, p.y + i * p.classes, x.n);
      const float top = c.fold(
          x.n, -FLT_MAX, [](float a, float b) { return math::max(a, b); }, [&](i64 k) { return x[k]; });
      c.each(x.n, [&](i64 k) { y.set(k, math::exp(x[k] - top)); });
      const float sum = sum_of(c, x.n, [&](i64 k) { return y.at(k); });
      c.each(x.n, [&](i64 k) { y.set(k, y.at(k) / sum); });
      c.put(y);
    });
  }
};

/// dx = y (dy - sum of dy y) over each of `rows` lines of `classes` values; dx may be dy.
struct SoftmaxRowsBackward {
  static constexpr const char* label = "softmax_rows_backward";
  const float *y, *dy;
  float* dx;
  i64 rows, classes;
  Buf y_buf, dy_buf, dx_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SoftmaxRowsBackward p = *this;
    const auto fetch = [&](i64 i) {
      return gather(c.get(p.y_buf, p.y + i * p.classes, p.classes), c.get(p.dy_buf, p.dy + i * p.classes, p.classes));
    };
    const auto work = named([&](i64 i, auto y, auto dy) {
      auto dx = c.out(p.dx_buf, p.dx + i * p.classes, y.n);
      const float dot = sum_of(c, y.n, [&](i64 k) { return y[k] * dy[k]; });
      c.each(y.n, [&](i64 k) { dx.set(k, y[k] * (dy[k] - dot)); });
      c.put(dx);
    });
    c.lines(p.rows, Depth::two, fetch, work);
  }
};

/// top = max x and sum = sum exp(x - top) over the classes of each position.
struct SoftmaxStatistics {
  static constexpr const char* label = "softmax_statistics";
  ClassPlanes s;
  const float* x;
  float *top, *sum;
  Buf x_buf, top_buf, sum_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SoftmaxStatistics p = *this;
    const auto fetch = [&](i64 i) { return p.s.get(c, p.x_buf, p.x, i); };
    c.lines(p.s.lines(), Depth::two, fetch, [&](i64 i, auto& x) {
      const i64 n = x.cols, classes = p.s.classes;
      auto top = p.s.out_positions(c, p.top_buf, p.top, i);
      auto sum = p.s.out_positions(c, p.sum_buf, p.sum, i);
      c.each(n, [&](i64 q) {
        float best = -FLT_MAX;
        for (i64 k = 0; k < classes; ++k) best = math::max(best, x(k, q));
        top.set(q, best);
      });
      c.each(n, [&](i64 q) {
        float total = 0;
        for (i64 k = 0; k < classes; ++k) total += math::exp(x(k, q) - top.at(q));
        sum.set(q, total);
      });
      c.put(top);
      c.put(sum);
    });
  }
};

/// y = exp(x - top) / sum; y may be x.
struct SoftmaxApply {
  static constexpr const char* label = "softmax_apply";
  ClassPlanes s;
  const float *x, *top, *sum;
  float* y;
  Buf x_buf, top_buf, sum_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SoftmaxApply p = *this;
    const auto fetch = [&](i64 i) {
      return gather(p.s.get(c, p.x_buf, p.x, i), p.s.get_positions(c, p.top_buf, p.top, i),
                    p.s.get_positions(c, p.sum_buf, p.sum, i));
    };
    const auto work = named([&](i64 i, auto x, auto top, auto sum) {
      auto y = p.s.out(c, p.y_buf, p.y, i);
      c.each2d(x.rows, x.cols, [&](i64 k, i64 q) { y.set(k, q, math::exp(x(k, q) - top[q]) / sum[q]); });
      c.put(y);
    });
    c.lines(p.s.lines(), Depth::two, fetch, work);
  }
};

/// dot = sum over classes of y dy at each position.
struct SoftmaxDot {
  static constexpr const char* label = "softmax_dot";
  ClassPlanes s;
  const float *y, *dy;
  float* dot;
  Buf y_buf, dy_buf, dot_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SoftmaxDot p = *this;
    const auto fetch = [&](i64 i) { return gather(p.s.get(c, p.y_buf, p.y, i), p.s.get(c, p.dy_buf, p.dy, i)); };
    const auto work = named([&](i64 i, auto y, auto dy) {
      const i64 classes = y.rows;
      auto dot = p.s.out_positions(c, p.dot_buf, p.dot, i);
      c.each(y.cols, [&](i64 q) {
        float total = 0;
        for (i64 k = 0; k < classes; ++k) total += y(k, q) * dy(k, q);
        dot.set(q, total);
      });
      c.put(dot);
    });
    c.lines(p.s.lines(), Depth::two, fetch, work);
  }
};

/// dx = y (dy - dot); dx may be dy.
struct SoftmaxApplyBackward {
  static constexpr const char* label = "softmax_apply_backward";
  ClassPlanes s;
  const float *y, *dy, *dot;
  float* dx;
  Buf y_buf, dy_buf, dot_buf, dx_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SoftmaxApplyBackward p = *this;
    const auto fetch = [&](i64 i) {
      return gather(p.s.get_positions(c, p.dot_buf, p.dot, i), p.s.get(c, p.y_buf, p.y, i),
                    p.s.get(c, p.dy_buf, p.dy, i));
    };
    const auto work = named([&](i64 i, auto dot, auto y, auto dy) {
      auto dx = p.s.out(c, p.dx_buf, p.dx, i);
      c.each2d(y.rows, y.cols, [&](i64 k, i64 q) { dx.set(k, q, y(k, q) * (dy(k, q) - dot[q])); });
      c.put(dx);
    });
    c.lines(p.s.lines(), Depth::two, fetch, work);
  }
};

}  // namespace cortado
