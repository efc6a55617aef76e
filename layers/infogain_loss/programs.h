#pragma once
#include "layers/loss/functions.h"
#include "layers/softmax_loss/programs.h"

namespace cortado {

/// partial[i] = -sum over the positions and classes of line i of gain log(probability); gains are rows of `classes`
/// values, one for each position.
struct InfogainLoss {
  static constexpr const char* label = "infogain_loss";
  LabelledPlanes s;
  const float *probability, *labels, *gain;
  float* partial;
  Buf probability_buf, label_buf, gain_buf, partial_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const InfogainLoss p = *this;
    c.lines(
        p.s.lines(), Depth::two,
        [&](i64 i) {
          const i64 n = p.s.width(i);
          return both(c.get2d(p.probability_buf, p.probability + p.s.value(i), p.s.classes, n, p.s.inner),
                      both(c.get(p.label_buf, p.labels + p.s.position(i), n),
                           c.get2d(p.gain_buf, p.gain + p.s.position(i) * p.s.classes, n, p.s.classes, p.s.classes)));
        },
        [&](i64 i, auto& in) {
          const auto probability = in.first;
          const auto labels = in.second.first;
          const auto gain = in.second.second;
          const LabelledPlanes s = p.s;
          const i64 n = labels.n;
          const float loss = c.fold(
              s.classes * n, 0.0f, [](float a, float b) { return a + b; },
              [&](i64 e) {
                const i64 k = e / n, q = e % n;
                const auto value = math::max(probability(k, q), loss::least_probability);
                return math::select(s.counts(static_cast<int>(labels[q])), -gain(q, k) * math::log(value), 0.0f);
              });
          auto partial = c.out(p.partial_buf, p.partial + i, 1);
          c.once([&] { partial.set(0, loss); });
          c.put(partial);
        });
  }
};

/// dx = (probability sum - gain) factor weight where the position counts, 0 elsewhere; `sums` holds the sum of each
/// position's gains, weight is the loss's own gradient, in cluster memory.
struct InfogainGradient {
  static constexpr const char* label = "infogain_gradient";
  LabelledPlanes s;
  const float *probability, *labels, *gain, *sums, *weight;
  float* dx;
  float factor;
  Buf probability_buf, label_buf, gain_buf, sum_buf, weight_buf, dx_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const InfogainGradient p = *this;
    const float scale = c.keep(p.weight_buf, p.weight, 1)[0] * p.factor;
    c.lines(
        p.s.lines(), Depth::two,
        [&](i64 i) {
          const i64 n = p.s.width(i), at = p.s.position(i);
          return both(both(c.get2d(p.probability_buf, p.probability + p.s.value(i), p.s.classes, n, p.s.inner),
                           c.get(p.label_buf, p.labels + at, n)),
                      both(c.get2d(p.gain_buf, p.gain + at * p.s.classes, n, p.s.classes, p.s.classes),
                           c.get(p.sum_buf, p.sums + at, n)));
        },
        [&](i64 i, auto& in) {
          const auto probability = in.first.first;
          const auto labels = in.first.second;
          const auto gain = in.second.first;
          const auto sums = in.second.second;
          const LabelledPlanes s = p.s;
          const float by = scale;
          auto dx = c.out2d(p.dx_buf, p.dx + s.value(i), probability.rows, probability.cols, s.inner);
          c.each2d(probability.rows, probability.cols, [&](i64 k, i64 q) {
            const auto value = by * (probability(k, q) * sums[q] - gain(q, k));
            dx.set(k, q, math::select(s.counts(static_cast<int>(labels[q])), value, 0.0f));
          });
          c.put(dx);
        });
  }
};

}  // namespace cortado
