#pragma once
#include <cfloat>

#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// Labels and probabilities of a loss: probabilities outer x classes x inner, labels outer x inner. A line is one
/// `outer` and `block` positions.
struct LabelledPlanes {
  i64 outer, classes, inner, block;
  bool ignores;
  int ignored;

  CORTADO_FN i64 blocks() const { return (inner + block - 1) / block; }
  CORTADO_FN i64 lines() const { return outer * blocks(); }
  CORTADO_FN i64 width(i64 line) const { return math::min(block, inner - line % blocks() * block); }
  CORTADO_FN i64 value(i64 line) const { return line / blocks() * classes * inner + line % blocks() * block; }
  CORTADO_FN i64 position(i64 line) const { return line / blocks() * inner + line % blocks() * block; }
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
    c.lines(
        p.s.lines(), Depth::two,
        [&](i64 i) {
          return both(c.get2d(p.probability_buf, p.probability + p.s.value(i), p.s.classes, p.s.width(i), p.s.inner),
                      c.get(p.label_buf, p.labels + p.s.position(i), p.s.width(i)));
        },
        [&](i64 i, auto& in) {
          const auto probability = in.first;
          const auto labels = in.second;
          const LabelledPlanes s = p.s;
          const auto add = [](float a, float b) { return a + b; };
          const float loss = c.fold(labels.n, 0.0f, add, [&](i64 q) {
            const int k = static_cast<int>(labels[q]);
            const bool valid = s.counts(k) && s.exists(k);
            const float value = probability(math::select(valid, k, 0), q);
            return math::select(valid, -math::log(math::max(value, FLT_MIN)), 0.0f);
          });
          const float counted = c.fold(labels.n, 0.0f, add, [&](i64 q) {
            return math::select(s.counts(static_cast<int>(labels[q])), 1.0f, 0.0f);
          });
          const float wrong = c.fold(labels.n, 0.0f, add, [&](i64 q) {
            const int k = static_cast<int>(labels[q]);
            const bool is_whole = static_cast<float>(labels[q]) == static_cast<float>(k);
            return math::select(!is_whole || (s.counts(k) && !s.exists(k)), 1.0f, 0.0f);
          });
          auto partial = c.out(p.partial_buf, p.partial + loss_sums * i, loss_sums);
          c.once([&] {
            partial.set(0, loss);
            partial.set(1, counted);
            partial.set(2, wrong);
          });
          c.put(partial);
        });
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
    c.lines(
        loss_sums, Depth::one, [&](i64 which) { return which; },
        [&](i64 which, i64&) {
          double total = 0;
          c.pipeline((p.lines + p.block - 1) / p.block, Depth::two,
                     [&](i64 b) {
                       return c.get(p.partial_buf, p.partial + loss_sums * b * p.block,
                                    loss_sums * math::min(p.block, p.lines - b * p.block));
                     },
                     [&](i64, auto& part) {
                       total += c.fold(
                           part.n / loss_sums, 0.0f, [](float a, float b) { return a + b; },
                           [&](i64 i) { return part[loss_sums * i + which]; });
                     });
          auto sum = c.out(p.sum_buf, p.sums + which, 1);
          c.once([&] { sum.set(0, static_cast<float>(total)); });
          c.put(sum);
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
    c.lines(
        p.s.lines(), Depth::two,
        [&](i64 i) {
          return both(c.get2d(p.probability_buf, p.probability + p.s.value(i), p.s.classes, p.s.width(i), p.s.inner),
                      c.get(p.label_buf, p.labels + p.s.position(i), p.s.width(i)));
        },
        [&](i64 i, auto& in) {
          const auto probability = in.first;
          const auto labels = in.second;
          const LabelledPlanes s = p.s;
          auto dx = c.out2d(p.dx_buf, p.dx + s.value(i), probability.rows, probability.cols, s.inner);
          c.each2d(probability.rows, probability.cols, [&](i64 k, i64 q) {
            const int wanted = static_cast<int>(labels[q]);
            const float hit = math::select(k == wanted, 1.0f, 0.0f);
            dx.set(k, q, math::select(s.counts(wanted), (probability(k, q) - hit) * factor, 0.0f));
          });
          c.put(dx);
        });
  }
};

}  // namespace cortado
