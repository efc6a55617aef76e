#pragma once
#include <cfloat>

#include "core/machine/sums.h"
#include "layers/softmax/planes.h"

namespace cortado {

/// Probabilities of a loss, and labels at positions.
struct LabelledPlanes : ClassPlanes {
  bool ignores;
  int ignored;
  CORTADO_FN bool counts(int label) const { return !(ignores && label == ignored); }
  CORTADO_FN bool exists(int label) const { return label >= 0 && label < classes; }
};

/// The number of sums over positions: -log p(label), labels that count, labels that are neither a class nor ignored.
constexpr i64 loss_sums = 3;

/// partial[3 line ...] = those sums over the positions of a line.
struct LossPartials {
  static constexpr const char* label = "softmax_loss_partials";
  LabelledPlanes s;
  const float *probability, *labels;
  float* partial;
  Buf probability_buf, label_buf, partial_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const LossPartials p = *this;
    const auto fetch = [&](i64 i) {
      return gather(p.s.get(c, p.probability_buf, p.probability, i), p.s.get_positions(c, p.label_buf, p.labels, i));
    };
    const auto work = named([&](i64 i, auto probability, auto labels) {
      const LabelledPlanes s = p.s;
      const float loss = sum_of(c, labels.n, [&](i64 q) {
        const int k = static_cast<int>(labels[q]);
        const bool valid = s.counts(k) && s.exists(k);
        const float value = probability(math::select(valid, k, 0), q);
        return math::select(valid, -math::log(math::max(value, FLT_MIN)), 0.0f);
      });
      const float counted =
          sum_of(c, labels.n, [&](i64 q) { return math::select(s.counts(static_cast<int>(labels[q])), 1.0f, 0.0f); });
      const float wrong = sum_of(c, labels.n, [&](i64 q) {
        const int k = static_cast<int>(labels[q]);
        const bool is_whole = static_cast<float>(labels[q]) == static_cast<float>(k);
        return math::select(!is_whole || (s.counts(k) && !s.exists(k)), 1.0f, 0.0f);
      });
      put_values(c, p.partial_buf, p.partial + loss_sums * i, loss, counted, wrong);
    });
    c.lines(p.s.lines(), Depth::two, fetch, work);
  }
};

/// sums = the partial sums of all lines together.
struct LossTotals {
  static constexpr const char* label = "softmax_loss_totals";
  const float* partial;
  float* sums;
  i64 lines, block;
  Buf partial_buf, sum_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const LossTotals p = *this;
    each_line(c, loss_sums, [&](i64 which) {
      double total = 0;
      c.pipeline((p.lines + p.block - 1) / p.block, Depth::two,
                 [&](i64 b) {
                   return c.get(p.partial_buf, p.partial + loss_sums * b * p.block,
                                loss_sums * math::min(p.block, p.lines - b * p.block));
                 },
                 [&](i64, auto& part) {
                   total += sum_of(c, part.n / loss_sums, [&](i64 i) { return part[loss_sums * i + which]; });
                 });
      put_values(c, p.sum_buf, p.sums + which, static_cast<float>(total));
    });
  }
};

/// dx = (probability - [class is the label]) weight / normaliser where the position counts, 0 elsewhere; weight is the
/// loss's own gradient, in cluster memory.
struct LossGradient {
  static constexpr const char* label = "softmax_loss_gradient";
  LabelledPlanes s;
  const float *probability, *labels, *weight;
  float* dx;
  float normaliser;
  Buf probability_buf, label_buf, weight_buf, dx_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const LossGradient p = *this;
    const float factor = c.keep(p.weight_buf, p.weight, 1)[0] / p.normaliser;
    const auto fetch = [&](i64 i) {
      return gather(p.s.get(c, p.probability_buf, p.probability, i), p.s.get_positions(c, p.label_buf, p.labels, i));
    };
    const auto work = named([&](i64 i, auto probability, auto labels) {
      const LabelledPlanes s = p.s;
      auto dx = s.out(c, p.dx_buf, p.dx, i);
      c.each2d(probability.rows, probability.cols, [&](i64 k, i64 q) {
        const int wanted = static_cast<int>(labels[q]);
        const float hit = math::select(k == wanted, 1.0f, 0.0f);
        dx.set(k, q, math::select(s.counts(wanted), (probability(k, q) - hit) * factor, 0.0f));
      });
      c.put(dx);
    });
    c.lines(p.s.lines(), Depth::two, fetch, work);
  }
};

}  // namespace cortado
