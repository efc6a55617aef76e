#pragma once
#include "layers/softmax/planes.h"

namespace cortado {

/// Scores outer x classes x inner, labels outer x inner: hit = 1 where fewer than top_k other classes score at least as
/// much as the label's, 0 where not and where the label's score is NaN (others' NaN count as more), -1 where the label
/// is ignored. Labels are classes or the ignored one.
struct AccuracyHits {
  static constexpr const char* label = "accuracy_hits";
  View<ClassPlanes, const float> scores;
  Lines<const float> labels;
  Lines<float> hit;
  int top_k;
  bool ignores;
  int ignored;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const AccuracyHits p = *this;
    each_line(c, gather(p.scores, p.labels), [&](i64 i, auto scores, auto labels) {
      const i64 classes = scores.rows;
      const auto ignored = [&](i64 q) { return p.ignores && static_cast<int>(labels[q]) == p.ignored; };
      auto hit = p.hit.out(c, i);
      c.each(labels.n, [&](i64 q) {
        const i64 l = math::max(i64{0}, math::min(static_cast<i64>(labels[q]), classes - 1));
        const float own = scores(l, q);
        int better = -1;  // the label itself is no less than itself
        for (i64 k = 0; k < classes; ++k) better += math::select(scores(k, q) < own, 0, 1);  // NaN is not less
        better += math::select(own == own, 0, p.top_k);
        hit.set(q, math::select(ignored(q), -1.0f, math::select(better < p.top_k, 1.0f, 0.0f)));
      });
      c.put(hit);
    });
  }
};

/// Line 0: overall = hits / positions that count; line 1 + k: per_class[k] = the same over positions labelled k. 0
/// where none counts.
struct AccuracyMeans {
  static constexpr const char* label = "accuracy_means";
  Lines<const float> hit, labels;
  Lines<float> overall, per_class;
  i64 means;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const AccuracyMeans p = *this;
    each_line(c, p.means, [&](i64 line) {
      double hits = 0, count = 0;
      c.pipeline(
          p.hit.lines(), Depth::two, [&](i64 i) { return gather(p.hit.get(c, i), p.labels.get(c, i)); },
          named([&](i64, auto hit, auto labels) {
            const auto belongs = [&](i64 q) {
              return hit[q] >= 0 && (line == 0 || static_cast<i64>(labels[q]) == line - 1);
            };
            hits += sum_of(c, hit.n, [&](i64 q) { return math::select(belongs(q), hit[q], 0.0f); });
            count += sum_of(c, hit.n, [&](i64 q) { return math::select(belongs(q), 1.0f, 0.0f); });
          }));
      put_values(c, line == 0 ? p.overall : p.per_class, math::max(line - 1, i64{0}),
                 count > 0 ? static_cast<float>(hits / count) : 0.0f);
    });
  }
};

}  // namespace cortado
