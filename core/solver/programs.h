#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"
#include "core/solver/rules.h"

namespace cortado {

/// One update of n consecutive weights w:
///   g = scale g + l2 w + l1 sign(w),   w = w - step of the rule (rules.h)
/// The rule's histories lie `pitch` values apart. Reads 2 + histories floats and writes 1 + histories per weight; the
/// gradient stays as it is.
template <class Rule>
struct Update {
  static constexpr const char* label = Rule::label;
  const float* gradient = nullptr;
  float* weight = nullptr;
  float* history = nullptr;
  i64 pitch = 0, n = 0, block = 1;
  float scale = 1, l2 = 0, l1 = 0;
  Rule rule;
  Buf gradients, weights, histories, new_weights, new_histories;
  Depth depth = Depth::two;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const float scale_ = scale, l2_ = l2, l1_ = l1;
    const Rule rule_ = rule;
    c.lines((n + block - 1) / block, depth,
            [&](i64 i) {
              const i64 first = i * block, count = block < n - first ? block : n - first;
              const float *w = weight, *h = history;
              return both(
                  c.get(gradients, gradient + first, count),
                  both(c.get(weights, w + first, count), c.get2d(histories, h + first, Rule::histories, count, pitch)));
            },
            [&](i64 i, auto& in) {
              auto &g = in.first, &w = in.second.first;
              auto& h = in.second.second;
              auto to_weight = c.out(new_weights, weight + i * block, g.n);
              auto to_history = c.out2d(new_histories, history + i * block, Rule::histories, g.n, pitch);
              c.each(g.n, [&](i64 j) {
                auto at = w[j];
                auto sign = math::select(at > 0.0f, 1.0f, math::select(at < 0.0f, -1.0f, 0.0f));
                auto step = rule_(
                    scale_ * g[j] + l2_ * at + l1_ * sign, [&](int k) { return h(k, j); },
                    [&](int k, auto value) { to_history.set(k, j, value); });
                to_weight.set(j, at - step);
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
