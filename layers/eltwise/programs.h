#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

enum class PairOperation { weighted_sum, product, larger, where_index };

/// One step over two arrays, element by element; y may be a. weighted_sum: y = wa a + wb b, where that is not positive
/// times `slope` (1: no rectifier). product: y = a b. larger: y is the larger of a and b, and index says whose it is:
/// `which` where b wins (strictly, unless `first`, where b wins ties and a's index is 0). where_index: y = a where
/// index b is `which`, else 0.
template <class T>
struct PairStep {
  static constexpr const char* label = "eltwise";
  PairOperation operation;
  const T *a, *b;
  T *y, *index;
  float wa, wb, which, slope;
  bool first;
  i64 n, block;
  Buf a_buf, b_buf, y_buf, index_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PairStep p = *this;
    c.lines((p.n + p.block - 1) / p.block, Depth::two,
            [&](i64 i) {
              const i64 n = math::min(p.block, p.n - i * p.block);
              return both(c.get(p.a_buf, p.a + i * p.block, n), c.get(p.b_buf, p.b + i * p.block, n));
            },
            [&](i64 i, auto& in) {
              const auto a = in.first, b = in.second;
              auto y = c.out(p.y_buf, p.y + i * p.block, a.n);
              const float wa = p.wa, wb = p.wb, which = p.which, slope = p.slope;
              if (p.operation == PairOperation::weighted_sum)
                c.each(a.n, [&](i64 j) {
                  const auto v = wa * a[j] + wb * b[j];
                  y.set(j, math::select(v > 0.0f, v, slope * v));
                });
              if (p.operation == PairOperation::product) c.each(a.n, [&](i64 j) { y.set(j, a[j] * b[j]); });
              if (p.operation == PairOperation::where_index)
                c.each(a.n, [&](i64 j) { y.set(j, math::select(b[j] == which, a[j], 0.0f)); });
              if (p.operation == PairOperation::larger) {
                auto index = c.update(p.index_buf, p.index + i * p.block, a.n);
                const bool first = p.first;
                c.each(a.n, [&](i64 j) {
                  const bool wins = first ? !(a[j] > b[j]) : b[j] > a[j];
                  y.set(j, math::select(wins, b[j], a[j]));
                  index.set(j, math::select(wins, which, first ? 0.0f : index.at(j)));
                });
                c.put(index);
              }
              c.put(y);
            });
  }
};

/// Gradients of one or two of a sum's bottoms: dx_i = w_i times the sum of dy, where y is not positive times `slope`
/// (1: no rectifier, and y may be anything).
template <class T, int gradients>
struct SumGradient {
  static constexpr const char* label = "eltwise_backward";
  const T *dy[gradients], *y;
  T* dx[2];
  int outputs;
  float w[2], slope;
  i64 n, block;
  Buf dy_buf[gradients], y_buf, dx_buf[2];

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SumGradient p = *this;
    c.lines((p.n + p.block - 1) / p.block, Depth::two,
            [&](i64 i) {
              const i64 n = math::min(p.block, p.n - i * p.block);
              const auto line = [&](Buf buf, const T* from) { return c.get(buf, from + i * p.block, n); };
              if constexpr (gradients == 1)
                return both(line(p.dy_buf[0], p.dy[0]), line(p.y_buf, p.y));
              else
                return both(both(line(p.dy_buf[0], p.dy[0]), line(p.dy_buf[1], p.dy[1])), line(p.y_buf, p.y));
            },
            [&](i64 i, auto& in) {
              const auto y = in.second;
              for (int k = 0; k < p.outputs; ++k) {
                auto dx = c.out(p.dx_buf[k], p.dx[k] + i * p.block, y.n);
                const float w = p.w[k], slope = p.slope;
                c.each(y.n, [&](i64 j) {
                  const auto v = w * p.sum(in.first, j);
                  dx.set(j, math::select(y[j] > 0.0f, v, slope * v));
                });
                c.put(dx);
              }
            });
  }

 private:
  template <class Lines>
  CORTADO_FN static auto sum(const Lines& dy, i64 j) {
    if constexpr (gradients == 1)
      return dy[j];
    else
      return dy.first[j] + dy.second[j];
  }
};

}  // namespace cortado
