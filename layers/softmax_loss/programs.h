#pragma once
#include <cfloat>

#include "layers/softmax/planes.h"

namespace cortado {

/// The labels of a loss that count.
struct CountedLabels {
  i64 classes;
  bool ignores;
  int ignored;
  CORTADO_FN bool counts(int label) const { return !(ignores && label == ignored); }
  CORTADO_FN bool exists(int label) const { return label >= 0 && label < classes; }
};

/// The target of class k is `rest`, and more by `hit` where k is the label. Label smoothing by e is hit = 1 - e,
/// rest = e / classes (Szegedy et al. 2016, section 7).
struct LabelTargets {
  float hit = 1, rest = 0;
};

/// The number of sums over positions: minus the targets' products with log p, labels that count, labels that are
/// neither a class nor ignored.
constexpr i64 loss_sums = 3;

/// partial = those sums over the positions of each line.
struct LossPartials {
  static constexpr const char* label = "softmax_loss_partials";
  CountedLabels rule;
  LabelTargets targets;
  View<ClassPlanes, const float> probability;
  Lines<const float> labels;
  Lines<float> partial;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const LossPartials p = *this;
    each_line(c, gather(p.probability, p.labels), [&](i64 i, auto probability, auto labels) {
      const CountedLabels rule = p.rule;
      const float of_label = sum_of(c, labels.n, [&](i64 q) {
        const int k = static_cast<int>(labels[q]);
        const bool valid = rule.counts(k) && rule.exists(k);
        const float value = probability(math::select(valid, k, 0), q);
        return math::select(valid, -math::log(math::max(value, FLT_MIN)), 0.0f);
      });
      float loss = p.targets.hit * of_label;
      if (p.targets.rest != 0)
        for (i64 k = 0; k < rule.classes; ++k)
          loss += p.targets.rest * sum_of(c, labels.n, [&](i64 q) {
                    const int wanted = static_cast<int>(labels[q]);
                    const float value = -math::log(math::max(probability(k, q), FLT_MIN));
                    return math::select(rule.counts(wanted) && rule.exists(wanted), value, 0.0f);
                  });
      const float counted = sum_of(
          c, labels.n, [&](i64 q) { return math::select(rule.counts(static_cast<int>(labels[q])), 1.0f, 0.0f); });
      const float wrong = sum_of(c, labels.n, [&](i64 q) {
        const int k = static_cast<int>(labels[q]);
        const bool is_whole = static_cast<float>(labels[q]) == static_cast<float>(k);
        return math::select(!is_whole || (rule.counts(k) && !rule.exists(k)), 1.0f, 0.0f);
      });
      put_values(c, p.partial, i, loss, counted, wrong);
    });
  }
};

/// sums = the partial sums of all lines together; a line of `partial` has those of several.
struct LossTotals {
  static constexpr const char* label = "softmax_loss_totals";
  Lines<const float> partial;
  Lines<float> sums;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const LossTotals p = *this;
    each_line(c, loss_sums, [&](i64 which) {
      double total = 0;
      c.pipeline(
          p.partial.lines(), Depth::two, [&](i64 b) { return p.partial.get(c, b); },
          [&](i64, auto& part) {
            total += sum_of(c, part.n / loss_sums, [&](i64 i) { return part[loss_sums * i + which]; });
          });
      put_values(c, p.sums, which, static_cast<float>(total));
    });
  }
};

/// dx = (probability - target) weight / normaliser where the position counts, 0 elsewhere; weight is the
/// loss's own gradient, in cluster memory.
struct LossGradient {
  static constexpr const char* label = "softmax_loss_gradient";
  CountedLabels rule;
  LabelTargets targets;
  View<ClassPlanes, const float> probability;
  Lines<const float> labels, weight;
  float normaliser;
  View<ClassPlanes, float> dx;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const LossGradient p = *this;
    const float factor = p.weight.keep(c)[0] / p.normaliser;
    each_line(c, gather(p.probability, p.labels), [&](i64 i, auto probability, auto labels) {
      const CountedLabels rule = p.rule;
      const float label = p.targets.hit + p.targets.rest, other = p.targets.rest;
      auto dx = p.dx.out(c, i);
      c.each2d(probability.rows, probability.cols, [&](i64 k, i64 q) {
        const int wanted = static_cast<int>(labels[q]);
        const float target = math::select(k == wanted, label, other);
        dx.set(k, q, math::select(rule.counts(wanted), (probability(k, q) - target) * factor, 0.0f));
      });
      c.put(dx);
    });
  }
};

}  // namespace cortado
