#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// Scores outer x classes x inner, labels outer x inner: hit = 1 where fewer than top_k other classes score at least as
/// much as the label's, 0 where not and where the label's score is NaN (others' NaN count as more), -1 where the label
/// is ignored. Labels are classes or the ignored one. A line is one `outer` and `block` positions.
struct AccuracyHits {
  static constexpr const char* label = "accuracy_hits";
  const float *scores, *labels;
  float* hit;
  i64 outer, classes, inner, block;
  int top_k;
  bool ignores;
  int ignored;
  Buf score_buf, label_buf, hit_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const AccuracyHits p = *this;
    const i64 blocks = (p.inner + p.block - 1) / p.block;
    c.lines(
        p.outer * blocks, Depth::two,
        [&](i64 i) {
          const i64 first = i % blocks * p.block, n = math::min(p.block, p.inner - first);
          return both(c.get2d(p.score_buf, p.scores + i / blocks * p.classes * p.inner + first, p.classes, n, p.inner),
                      c.get(p.label_buf, p.labels + i / blocks * p.inner + first, n));
        },
        [&](i64 i, auto& in) {
          const auto scores = in.first;
          const auto labels = in.second;
          const i64 position = i / blocks * p.inner + i % blocks * p.block;
          const auto ignored = [&](i64 q) { return p.ignores && static_cast<int>(labels[q]) == p.ignored; };
          auto hit = c.out(p.hit_buf, p.hit + position, labels.n);
          c.each(labels.n, [&](i64 q) {
            const i64 l = math::max(i64{0}, math::min(static_cast<i64>(labels[q]), p.classes - 1));
            const float own = scores(l, q);
            int better = -1;  // the label itself is no less than itself
            for (i64 k = 0; k < p.classes; ++k) better += math::select(scores(k, q) < own, 0, 1);  // NaN is not less
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
  const float *hit, *labels;
  float *overall, *per_class;
  i64 positions, block, means;
  Buf hit_buf, label_buf, mean_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const AccuracyMeans p = *this;
    c.lines(
        p.means, Depth::one, [&](i64 i) { return i; },
        [&](i64 line, i64&) {
          double hits = 0, count = 0;
          const auto add = [](float a, float b) { return a + b; };
          c.pipeline((p.positions + p.block - 1) / p.block, Depth::two,
                     [&](i64 b) {
                       const i64 n = math::min(p.block, p.positions - b * p.block);
                       return both(c.get(p.hit_buf, p.hit + b * p.block, n),
                                   c.get(p.label_buf, p.labels + b * p.block, n));
                     },
                     [&](i64, auto& in) {
                       const auto hit = in.first, labels = in.second;
                       const auto belongs = [&](i64 q) {
                         return hit[q] >= 0 && (line == 0 || static_cast<i64>(labels[q]) == line - 1);
                       };
                       hits += c.fold(hit.n, 0.0f, add, [&](i64 q) { return math::select(belongs(q), hit[q], 0.0f); });
                       count += c.fold(hit.n, 0.0f, add, [&](i64 q) { return math::select(belongs(q), 1.0f, 0.0f); });
                     });
          auto mean = c.out(p.mean_buf, line == 0 ? p.overall : p.per_class + line - 1, 1);
          c.once([&] { mean.set(0, count > 0 ? static_cast<float>(hits / count) : 0.0f); });
          c.put(mean);
        });
  }
};

}  // namespace cortado
