#pragma once
#include "core/machine/elementwise.h"

namespace cortado {

/// wa a + wb b, where that is not positive times `slope` (1: no rectifier).
struct WeightedSum {
  static constexpr const char* label = "eltwise_sum";
  float wa, wb, slope;
  template <class V>
  CORTADO_FN auto operator()(V a, V b) const {
    const auto v = wa * a + wb * b;
    return math::select(v > 0.0f, v, slope * v);
  }
};

struct Product {
  static constexpr const char* label = "eltwise_product";
  template <class V>
  CORTADO_FN auto operator()(V a, V b) const {
    return a * b;
  }
};

/// The larger of a and b, and whose it is: `which` where b wins (strictly, unless `first`, where b wins ties and a's
/// index is 0).
struct Larger {
  static constexpr const char* label = "eltwise_larger";
  float which;
  bool first;
  template <class V>
  CORTADO_FN Two<V> operator()(V a, V b, V index) const {
    const bool wins = first ? !(a > b) : b > a;
    return {math::select(wins, b, a), math::select(wins, V(which), first ? V(0.0f) : index)};
  }
};

/// dy where the index is `which`, 0 elsewhere.
struct WhereIndex {
  static constexpr const char* label = "eltwise_where_index";
  float which;
  template <class V>
  CORTADO_FN auto operator()(V dy, V index) const {
    return math::select(index == which, dy, 0.0f);
  }
};

/// Gradients of one or two of a sum's bottoms: w_i times the sum of the gradients, where y is not positive times
/// `slope` (1: no rectifier, and y may be anything).
template <int bottoms>
struct SumGradient {
  static constexpr const char* label = "eltwise_backward";
  float w[bottoms], slope;
  template <class V>
  CORTADO_FN auto operator()(V y, V dy) const {
    return of_sum(y, dy);
  }
  template <class V>
  CORTADO_FN auto operator()(V y, V dy, V other) const {
    return of_sum(y, dy + other);
  }

 private:
  template <class V, class Sum>
  CORTADO_FN auto of_sum(V y, Sum sum) const {
    if constexpr (bottoms == 1)
      return one(y, w[0] * sum);
    else
      return Two<Sum>{one(y, w[0] * sum), one(y, w[1] * sum)};
  }
  template <class V, class Value>
  CORTADO_FN auto one(V y, Value v) const {
    return math::select(y > 0.0f, v, slope * v);
  }
};

}  // namespace cortado
