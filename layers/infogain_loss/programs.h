#pragma once
#include "core/machine/sums.h"
#include "layers/loss/functions.h"
#include "layers/softmax_loss/programs.h"

namespace cortado {

/// Gains of a line's positions, a row of classes for each.
template <class C>
CORTADO_FN auto gains_of(C& c, Buf buf, const float* gain, const LabelledPlanes& s, i64 line) {
  return c.get2d(buf, gain + s.position(line) * s.classes, s.width(line), s.classes, s.classes);
}

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
    const auto fetch = [&](i64 i) {
      return gather(p.s.get(c, p.probability_buf, p.probability, i), p.s.get_positions(c, p.label_buf, p.labels, i),
                    gains_of(c, p.gain_buf, p.gain, p.s, i));
    };
    const auto work = named([&](i64 i, auto probability, auto labels, auto gain) {
      const LabelledPlanes s = p.s;
      const i64 n = labels.n;
      const float loss = sum_of(c, s.classes * n, [&](i64 e) {
        const i64 k = e / n, q = e % n;
        const auto value = math::max(probability(k, q), loss::least_probability);
        return math::select(s.counts(static_cast<int>(labels[q])), -gain(q, k) * math::log(value), 0.0f);
      });
      put_values(c, p.partial_buf, p.partial + i, loss);
    });
    c.lines(p.s.lines(), Depth::two, fetch, work);
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
    const auto fetch = [&](i64 i) {
      return gather(p.s.get(c, p.probability_buf, p.probability, i), p.s.get_positions(c, p.label_buf, p.labels, i),
                    gains_of(c, p.gain_buf, p.gain, p.s, i), p.s.get_positions(c, p.sum_buf, p.sums, i));
    };
    const auto work = named([&](i64 i, auto probability, auto labels, auto gain, auto sums) {
      const LabelledPlanes s = p.s;
      const float by = scale;
      auto dx = s.out(c, p.dx_buf, p.dx, i);
      c.each2d(probability.rows, probability.cols, [&](i64 k, i64 q) {
        const auto value = by * (probability(k, q) * sums[q] - gain(q, k));
        dx.set(k, q, math::select(s.counts(static_cast<int>(labels[q])), value, 0.0f));
      });
      c.put(dx);
    });
    c.lines(p.s.lines(), Depth::two, fetch, work);
  }
};

}  // namespace cortado
