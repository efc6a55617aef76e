#pragma once
#include "core/machine/elementwise.h"
#include "core/machine/view.h"
#include "layers/loss/functions.h"

namespace cortado {

/// partial[2 i] = sum of f's values over line i of two arrays, partial[2 i + 1] = how many of its elements count.
template <class F>
struct PairLoss {
  static constexpr const char* label = F::label;
  F f;
  Lines<const float> a, b;
  Lines<float> partial;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PairLoss p = *this;
    each_line(c, gather(p.a, p.b), [&](i64 i, auto a, auto b) {
      const F f = p.f;
      const float loss = sum_of(c, a.n, [&](i64 j) { return math::select(f.counts(b[j]), f.value(a[j], b[j]), 0.0f); });
      const float counted = sum_of(c, a.n, [&](i64 j) { return math::select(f.counts(b[j]), 1.0f, 0.0f); });
      put_values(c, p.partial, i, loss, counted);
    });
  }
};

/// factor weight f', where an element counts, 0 elsewhere; weight is the loss's own gradient.
template <class F>
struct PairLossGradient {
  static constexpr const char* label = F::gradient_label;
  F f;
  float factor;
  template <class V>
  CORTADO_FN auto operator()(V a, V b, float weight) const {
    return math::select(f.counts(b), weight * factor * f.slope(a, b), 0.0f);
  }
};

/// partial[i] = sum over line i of f's value of a score and whether it is the label's; rows of scores have a label
/// each.
template <class F>
struct LabelLoss {
  static constexpr const char* label = F::label;
  F f;
  Lines<const float> x;
  View<RowValues, const float> labels;
  Lines<float> partial;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const LabelLoss p = *this;
    each_line(c, gather(p.x, p.labels), [&](i64 i, auto x, auto labels) {
      const F f = p.f;
      const i64 hit = static_cast<i64>(static_cast<int>(labels[0])) - p.x.cut.first(i);
      const float loss = sum_of(c, x.n, [&](i64 j) { return f.value(x[j], j == hit); });
      put_values(c, p.partial, i, loss);
    });
  }
};

/// factor weight f'; weight is the loss's own gradient.
template <class F>
struct LabelLossGradient {
  static constexpr const char* label = F::gradient_label;
  F f;
  float factor;
  template <class V>
  CORTADO_FN auto operator()(V x, i64 column, float hit, float weight) const {
    return weight * factor * f.slope(x, column == static_cast<i64>(static_cast<int>(hit)));
  }
};

}  // namespace cortado
