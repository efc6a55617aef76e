#pragma once
#include "core/machine/elementwise.h"
#include "core/machine/sums.h"
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
  i64 pitch = 0;
  RowLines s{1, 0, 1};
  float scale = 1, l2 = 0, l1 = 0;
  Rule rule;
  Buf gradients, weights, histories, new_weights, new_histories;
  Depth depth = Depth::two;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const float scale_ = scale, l2_ = l2, l1_ = l1;
    const Rule rule_ = rule;
    const RowLines s_ = s;
    const auto fetch = [&](i64 i) {
      const float *w = weight, *h = history;
      return gather(s_.get(c, gradients, gradient, i), s_.get(c, weights, w, i),
                    c.get2d(histories, h + s_.at(i), Rule::histories, s_.count(i), pitch));
    };
    const auto work = named([&](i64 i, auto& g, auto& w, auto& h) {
      auto to_weight = s_.out(c, new_weights, weight, i);
      auto to_history = c.out2d(new_histories, history + s_.at(i), Rule::histories, g.n, pitch);
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
    c.lines(s_.lines(), depth, fetch, work);
  }
};

/// y + x: the gradients of another core group.
struct AddValues {
  static constexpr const char* label = "add_gradients";
  template <class V>
  CORTADO_FN auto operator()(V y, V x) const {
    return y + x;
  }
};

/// sums[i] = sum of squares of line i. The host adds the lines' sums in order, so the
/// result is the same from run to run.
struct SumOfSquares {
  static constexpr const char* label = "sum_of_squares";
  const float* values = nullptr;
  float* sums = nullptr;
  RowLines s{1, 0, 1};
  Buf in, out;
  Depth depth = Depth::two;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const auto fetch = [&](i64 i) { return s.get(c, in, values, i); };
    c.lines(s.lines(), depth, fetch, [&](i64 i, auto& line) {
      auto sum = sum_of(c, line.n, [&](i64 j) { return line[j] * line[j]; });
      put_values(c, out, sums + i, sum);
    });
  }
};

}  // namespace cortado
