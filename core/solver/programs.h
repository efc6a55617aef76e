#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// One step of SGD with momentum on n consecutive weights, in Caffe's order of operations:
///   g = scale g + l2 w + l1 sign(w),   h = rate g + momentum h,   w = w - h
/// Reads three floats and writes two per weight; the gradient stays as it is.
struct SgdUpdate {
  static constexpr const char* label = "sgd_update";
  const float* gradient = nullptr;
  float* weight = nullptr;
  float* history = nullptr;
  i64 n = 0, block = 1;
  float scale = 1, l2 = 0, l1 = 0, rate = 0, momentum = 0;
  Buf gradients, weights, histories, new_weights, new_histories;
  Depth depth = Depth::two;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const float scale_ = scale, l2_ = l2, l1_ = l1, rate_ = rate, momentum_ = momentum;
    c.lines((n + block - 1) / block, depth,
            [&](i64 i) {
              const i64 first = i * block, count = block < n - first ? block : n - first;
              const float *w = weight, *h = history;
              return both(c.get(gradients, gradient + first, count),
                          both(c.get(weights, w + first, count), c.get(histories, h + first, count)));
            },
            [&](i64 i, auto& in) {
              auto &g = in.first, &w = in.second.first, &h = in.second.second;
              auto to_weight = c.out(new_weights, weight + i * block, g.n);
              auto to_history = c.out(new_histories, history + i * block, g.n);
              c.each(g.n, [&](i64 j) {
                auto old = w[j];
                auto sign = math::select(old > 0.0f, 1.0f, math::select(old < 0.0f, -1.0f, 0.0f));
                auto step = rate_ * (scale_ * g[j] + l2_ * old + l1_ * sign) + momentum_ * h[j];
                to_history.set(j, step);
                to_weight.set(j, old - step);
              });
              c.put(to_weight);
              c.put(to_history);
            });
  }
};

/// y += x for n consecutive values: the gradients of another core group.
struct AddValues {
  static constexpr const char* label = "add_gradients";
  const float* x;
  float* y;
  i64 n, block;
  Buf x_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const AddValues p = *this;
    c.lines((p.n + p.block - 1) / p.block, Depth::two,
            [&](i64 i) {
              const i64 first = i * p.block, count = p.block < p.n - first ? p.block : p.n - first;
              return c.get(p.x_buf, p.x + first, count);
            },
            [&](i64 i, auto& x) {
              auto y = c.update(p.y_buf, p.y + i * p.block, x.n);
              c.each(x.n, [&](i64 j) { y.set(j, y.at(j) + x[j]); });
              c.put(y);
            });
  }
};

/// sums[i] = sum of squares of line i, the i-th `block` of n values. The host adds the lines' sums in order, so the
/// result is the same from run to run.
struct SumOfSquares {
  static constexpr const char* label = "sum_of_squares";
  const float* values = nullptr;
  float* sums = nullptr;
  i64 n = 0, block = 1;
  Buf in, out;
  Depth depth = Depth::two;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    c.lines((n + block - 1) / block, depth,
            [&](i64 i) { return c.get(in, values + i * block, block < n - i * block ? block : n - i * block); },
            [&](i64 i, auto& line) {
              auto sum = c.fold(
                  line.n, 0.0f, [](auto a, auto b) { return a + b; }, [&](i64 j) { return line[j] * line[j]; });
              auto to = c.out(out, sums + i, 1);
              c.once([&] { to.set(0, sum); });
              c.put(to);
            });
  }
};

}  // namespace cortado
