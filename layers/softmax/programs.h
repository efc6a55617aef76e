#pragma once
#include <cfloat>

#include "layers/softmax/planes.h"

namespace cortado {

/// y = exp(x - max) / sum exp(x - max) over each line, which has all classes of a position; y may be x.
struct SoftmaxRows {
  static constexpr const char* label = "softmax_rows";
  Lines<const float> x;
  Lines<float> y;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SoftmaxRows p = *this;
    each_line(c, p.x, [&](i64 i, auto& x) {
      auto y = p.y.out(c, i);
      const float top = c.fold(
          x.n, -FLT_MAX, [](float a, float b) { return math::max(a, b); }, [&](i64 k) { return x[k]; });
      c.each(x.n, [&](i64 k) { y.set(k, math::exp(x[k] - top)); });
      const float sum = sum_of(c, x.n, [&](i64 k) { return y.at(k); });
      c.each(x.n, [&](i64 k) { y.set(k, y.at(k) / sum); });
      c.put(y);
    });
  }
};

/// dx = y (dy - sum of dy y) over each line, which has all classes of a position; dx may be dy.
struct SoftmaxRowsBackward {
  static constexpr const char* label = "softmax_rows_backward";
  Lines<const float> y, dy;
  Lines<float> dx;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SoftmaxRowsBackward p = *this;
    each_line(c, gather(p.y, p.dy), [&](i64 i, auto y, auto dy) {
      auto dx = p.dx.out(c, i);
      const float dot = sum_of(c, y.n, [&](i64 k) { return y[k] * dy[k]; });
      c.each(y.n, [&](i64 k) { dx.set(k, y[k] * (dy[k] - dot)); });
      c.put(dx);
    });
  }
};

/// top = max x and sum = sum exp(x - top) over the classes of each position.
struct SoftmaxStatistics {
  static constexpr const char* label = "softmax_statistics";
  View<ClassPlanes, const float> x;
  Lines<float> top, sum;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SoftmaxStatistics p = *this;
    each_line(c, p.x, [&](i64 i, auto& x) {
      const i64 n = x.cols, classes = x.rows;
      auto top = p.top.out(c, i);
      auto sum = p.sum.out(c, i);
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
  View<ClassPlanes, const float> x;
  Lines<const float> top, sum;
  View<ClassPlanes, float> y;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SoftmaxApply p = *this;
    each_line(c, gather(p.x, p.top, p.sum), [&](i64 i, auto x, auto top, auto sum) {
      auto y = p.y.out(c, i);
      c.each2d(x.rows, x.cols, [&](i64 k, i64 q) { y.set(k, q, math::exp(x(k, q) - top[q]) / sum[q]); });
      c.put(y);
    });
  }
};

/// dot = sum over classes of y dy at each position.
struct SoftmaxDot {
  static constexpr const char* label = "softmax_dot";
  View<ClassPlanes, const float> y, dy;
  Lines<float> dot;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SoftmaxDot p = *this;
    each_line(c, gather(p.y, p.dy), [&](i64 i, auto y, auto dy) {
      const i64 classes = y.rows;
      auto dot = p.dot.out(c, i);
      c.each(y.cols, [&](i64 q) {
        float total = 0;
        for (i64 k = 0; k < classes; ++k) total += y(k, q) * dy(k, q);
        dot.set(q, total);
      });
      c.put(dot);
    });
  }
};

/// dx = y (dy - dot); dx may be dy.
struct SoftmaxApplyBackward {
  static constexpr const char* label = "softmax_apply_backward";
  View<ClassPlanes, const float> y, dy;
  Lines<const float> dot;
  View<ClassPlanes, float> dx;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SoftmaxApplyBackward p = *this;
    each_line(c, gather(p.dot, p.y, p.dy), [&](i64 i, auto dot, auto y, auto dy) {
      auto dx = p.dx.out(c, i);
      c.each2d(y.rows, y.cols, [&](i64 k, i64 q) { dx.set(k, q, y(k, q) * (dy(k, q) - dot[q])); });
      c.put(dx);
    });
  }
};

}  // namespace cortado
