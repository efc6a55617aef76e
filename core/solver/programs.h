#pragma once
#include "core/machine/elementwise.h"
#include "core/machine/view.h"
#include "core/solver/rules.h"

namespace cortado {

/// Histories of consecutive weights, `pitch` values apart.
template <class Rule>
struct HistoryRows : RowLines {
  i64 pitch;
  CORTADO_FN i64 most() const { return Rule::histories * block; }
  CORTADO_FN BlockAt where(i64 line) const { return {at(line), Rule::histories, count(line), pitch}; }
};

/// One update of n consecutive weights w:
///   g = scale g + l2 w + l1 sign(w),   w = w - step of the rule (rules.h)
/// Reads 2 + histories floats and writes 1 + histories per weight; the gradient stays as it is.
template <class Rule>
struct Update {
  static constexpr const char* label = Rule::label;
  Lines<const float> gradient, weight;
  View<HistoryRows<Rule>, const float> history;
  Lines<float> new_weight;                     ///< lies where the old one does
  View<HistoryRows<Rule>, float> new_history;  ///< lies where the old one does
  float scale, l2, l1;
  Rule rule;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const Update p = *this;
    each_line(c, gather(p.gradient, p.weight, p.history), [&](i64 i, auto& g, auto& w, auto& h) {
      const float scale = p.scale, l2 = p.l2, l1 = p.l1;
      const Rule rule = p.rule;
      auto to_weight = p.new_weight.out(c, i);
      auto to_history = p.new_history.out(c, i);
      c.each(g.n, [&](i64 j) {
        auto at = w[j];
        auto sign = math::select(at > 0.0f, 1.0f, math::select(at < 0.0f, -1.0f, 0.0f));
        auto step = rule(
            scale * g[j] + l2 * at + l1 * sign, at, [&](int k) { return h(k, j); },
            [&](int k, auto value) { to_history.set(k, j, value); });
        to_weight.set(j, at - step);
      });
      c.put(to_weight);
      c.put(to_history);
    });
  }
};

/// LAMB's moments of n consecutive weights take the gradient, m = (1 - beta1) scale g + beta1 m and v likewise, and
/// sums[i] = the sum of squares of line i's directions.
struct Moments {
  static constexpr const char* label = "lamb_moments";
  Lines<const float> gradient, weight;
  View<HistoryRows<LambRule>, const float> history;
  View<HistoryRows<LambRule>, float> new_history;  ///< lies where the old one does
  Lines<float> sums;
  float scale;
  LambRule rule;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const Moments p = *this;
    each_line(c, gather(p.gradient, p.weight, p.history), [&](i64 i, auto& gradient, auto& w, auto& h) {
      const float scale = p.scale;
      const LambRule rule = p.rule;
      auto to_history = p.new_history.out(c, i);
      const auto mean = [&](i64 j) { return (1.0f - rule.beta1) * (scale * gradient[j]) + rule.beta1 * h(0, j); };
      const auto square = [&](i64 j) {
        auto g = scale * gradient[j];
        return (1.0f - rule.beta2) * (g * g) + rule.beta2 * h(1, j);
      };
      const float sum = sum_of(c, gradient.n, [&](i64 j) {
        auto direction = rule.direction(mean(j), square(j), w[j]);
        return direction * direction;
      });
      c.each(gradient.n, [&](i64 j) {
        auto m = mean(j), v = square(j);
        to_history.set(0, j, m);
        to_history.set(1, j, v);
      });
      c.put(to_history);
      put_values(c, p.sums, i, sum);
    });
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

/// decay a + (1 - decay) w: the average a takes the weight w.
struct MovingAverage {
  static constexpr const char* label = "average_weights";
  float decay;
  template <class V>
  CORTADO_FN auto operator()(V a, V w) const {
    return decay * a + (1.0f - decay) * w;
  }
};

/// Each of two arrays gets the other's values.
struct SwapValues {
  static constexpr const char* label = "swap_weights";
  template <class V>
  CORTADO_FN Two<V> operator()(V x, V y) const {
    return {y, x};
  }
};

/// sums[i] = sum of squares of line i. The host adds the lines' sums in order, so the
/// result is the same from run to run.
struct SumOfSquares {
  static constexpr const char* label = "sum_of_squares";
  Lines<const float> values;
  Lines<float> sums;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SumOfSquares p = *this;
    each_line(c, p.values, [&](i64 i, auto& line) {
      put_values(c, p.sums, i, sum_of(c, line.n, [&](i64 j) { return line[j] * line[j]; }));
    });
  }
};

}  // namespace cortado
