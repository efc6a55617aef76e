#pragma once
#include "layers/loss/functions.h"
#include "layers/softmax_loss/programs.h"

namespace cortado {

/// Rows of a value for each class, one row for each position. A line has those of a line of positions.
struct ClassRows {
  RowLines positions;
  i64 classes;
  CORTADO_FN i64 most() const { return classes * positions.most(); }
  CORTADO_FN BlockAt where(i64 line) const {
    return {positions.at(line) * classes, positions.count(line), classes, classes};
  }
};

/// partial = -sum over the positions and classes of each line of gain log(probability).
struct InfogainLoss {
  static constexpr const char* label = "infogain_loss";
  CountedLabels rule;
  View<ClassPlanes, const float> probability;
  Lines<const float> labels;
  View<ClassRows, const float> gain;
  Lines<float> partial;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const InfogainLoss p = *this;
    each_line(c, gather(p.probability, p.labels, p.gain), [&](i64 i, auto probability, auto labels, auto gain) {
      const CountedLabels rule = p.rule;
      const i64 n = labels.n;
      const float loss = sum_of(c, rule.classes * n, [&](i64 e) {
        const i64 k = e / n, q = e % n;
        const auto value = math::max(probability(k, q), loss::least_probability);
        return math::select(rule.counts(static_cast<int>(labels[q])), -gain(q, k) * math::log(value), 0.0f);
      });
      put_values(c, p.partial, i, loss);
    });
  }
};

/// dx = (probability sum - gain) factor weight where the position counts, 0 elsewhere; `sums` holds the sum of each
/// position's gains, weight is the loss's own gradient, in cluster memory.
struct InfogainGradient {
  static constexpr const char* label = "infogain_gradient";
  CountedLabels rule;
  View<ClassPlanes, const float> probability;
  Lines<const float> labels;
  View<ClassRows, const float> gain;
  Lines<const float> sums, weight;
  float factor;
  View<ClassPlanes, float> dx;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const InfogainGradient p = *this;
    const float scale = p.weight.keep(c)[0] * p.factor;
    each_line(c, gather(p.probability, p.labels, p.gain, p.sums),
              [&](i64 i, auto probability, auto labels, auto gain, auto sums) {
                const CountedLabels rule = p.rule;
                const float by = scale;
                auto dx = p.dx.out(c, i);
                c.each2d(probability.rows, probability.cols, [&](i64 k, i64 q) {
                  const auto value = by * (probability(k, q) * sums[q] - gain(q, k));
                  dx.set(k, q, math::select(rule.counts(static_cast<int>(labels[q])), value, 0.0f));
                });
                c.put(dx);
              });
  }
};

}  // namespace cortado
