#pragma once
#include <cfloat>

#include "core/machine/math.h"
#include "core/machine/program.h"

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
    c.lines(
        p.rows, Depth::two, [&](i64 i) { return c.get(p.x_buf, p.x + i * p.classes, p.classes); },
        [&](i64 i, auto& x) {
          auto y = c.out(p.y_buf, p.y + i * p.classes, x.n);
          const float top = c.fold(
              x.n, -FLT_MAX, [](float a, float b) { return math::max(a, b); }, [&](i64 k) { return x[k]; });
          c.each(x.n, [&](i64 k) { y.set(k, math::exp(x[k] - top)); });
          const float sum = c.fold(
              x.n, 0.0f, [](float a, float b) { return a + b; }, [&](i64 k) { return y.at(k); });
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
    c.lines(
        p.rows, Depth::two,
        [&](i64 i) {
          return both(c.get(p.y_buf, p.y + i * p.classes, p.classes), c.get(p.dy_buf, p.dy + i * p.classes, p.classes));
        },
        [&](i64 i, auto& in) {
          const auto y = in.first, dy = in.second;
          auto dx = c.out(p.dx_buf, p.dx + i * p.classes, y.n);
          const float dot = c.fold(
              y.n, 0.0f, [](float a, float b) { return a + b; }, [&](i64 k) { return y[k] * dy[k]; });
          c.each(y.n, [&](i64 k) { dx.set(k, y[k] * (dy[k] - dot)); });
          c.put(dx);
        });
  }
};

/// A blob seen as outer x classes x inner with inner > 1: the classes of one position lie `inner` apart. A line is one
/// `outer` and `block` positions, and its lanes are positions.
struct SoftmaxPlanes {
  i64 outer, classes, inner, block;
  CORTADO_FN i64 blocks() const { return (inner + block - 1) / block; }
  CORTADO_FN i64 lines() const { return outer * blocks(); }
  CORTADO_FN i64 width(i64 line) const { return math::min(block, inner - line % blocks() * block); }
  /// Of the first value of a line in the blob, and of its first position among outer x inner.
  CORTADO_FN i64 value(i64 line) const { return line / blocks() * classes * inner + line % blocks() * block; }
  CORTADO_FN i64 position(i64 line) const { return line / blocks() * inner + line % blocks() * block; }
};

/// top = max x and sum = sum exp(x - top) over the classes of each position.
struct SoftmaxStatistics {
  static constexpr const char* label = "softmax_statistics";
  SoftmaxPlanes s;
  const float* x;
  float *top, *sum;
  Buf x_buf, top_buf, sum_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SoftmaxStatistics p = *this;
    c.lines(
        p.s.lines(), Depth::two,
        [&](i64 i) { return c.get2d(p.x_buf, p.x + p.s.value(i), p.s.classes, p.s.width(i), p.s.inner); },
        [&](i64 i, auto& x) {
          const i64 n = x.cols, classes = p.s.classes;
          auto top = c.out(p.top_buf, p.top + p.s.position(i), n);
          auto sum = c.out(p.sum_buf, p.sum + p.s.position(i), n);
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
  SoftmaxPlanes s;
  const float *x, *top, *sum;
  float* y;
  Buf x_buf, top_buf, sum_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SoftmaxApply p = *this;
    c.lines(
        p.s.lines(), Depth::two,
        [&](i64 i) {
          const i64 n = p.s.width(i), at = p.s.position(i);
          return both(c.get2d(p.x_buf, p.x + p.s.value(i), p.s.classes, n, p.s.inner),
                      both(c.get(p.top_buf, p.top + at, n), c.get(p.sum_buf, p.sum + at, n)));
        },
        [&](i64 i, auto& in) {
          const auto x = in.first;
          const auto top = in.second.first, sum = in.second.second;
          auto y = c.out2d(p.y_buf, p.y + p.s.value(i), x.rows, x.cols, p.s.inner);
          c.each2d(x.rows, x.cols, [&](i64 k, i64 q) { y.set(k, q, math::exp(x(k, q) - top[q]) / sum[q]); });
          c.put(y);
        });
  }
};

/// dot = sum over classes of y dy at each position.
struct SoftmaxDot {
  static constexpr const char* label = "softmax_dot";
  SoftmaxPlanes s;
  const float *y, *dy;
  float* dot;
  Buf y_buf, dy_buf, dot_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SoftmaxDot p = *this;
    c.lines(
        p.s.lines(), Depth::two,
        [&](i64 i) {
          return both(c.get2d(p.y_buf, p.y + p.s.value(i), p.s.classes, p.s.width(i), p.s.inner),
                      c.get2d(p.dy_buf, p.dy + p.s.value(i), p.s.classes, p.s.width(i), p.s.inner));
        },
        [&](i64 i, auto& in) {
          const auto y = in.first, dy = in.second;
          const i64 classes = y.rows;
          auto dot = c.out(p.dot_buf, p.dot + p.s.position(i), y.cols);
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
  SoftmaxPlanes s;
  const float *y, *dy, *dot;
  float* dx;
  Buf y_buf, dy_buf, dot_buf, dx_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SoftmaxApplyBackward p = *this;
    c.lines(
        p.s.lines(), Depth::two,
        [&](i64 i) {
          const i64 n = p.s.width(i);
          return both(c.get(p.dot_buf, p.dot + p.s.position(i), n),
                      both(c.get2d(p.y_buf, p.y + p.s.value(i), p.s.classes, n, p.s.inner),
                           c.get2d(p.dy_buf, p.dy + p.s.value(i), p.s.classes, n, p.s.inner)));
        },
        [&](i64 i, auto& in) {
          const auto dot = in.first;
          const auto y = in.second.first, dy = in.second.second;
          auto dx = c.out2d(p.dx_buf, p.dx + p.s.value(i), y.rows, y.cols, p.s.inner);
          c.each2d(y.rows, y.cols, [&](i64 k, i64 q) { dx.set(k, q, y(k, q) * (dy(k, q) - dot[q])); });
          c.put(dx);
        });
  }
};

}  // namespace cortado
