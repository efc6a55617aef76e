#pragma once
#include "core/machine/program.h"
#include "layers/loss/functions.h"

namespace cortado {

/// partial[2 i] = sum of f's values over line i of two arrays, partial[2 i + 1] = how many of its elements count.
template <class F>
struct PairLoss {
  static constexpr const char* label = F::label;
  F f;
  const float *a, *b;
  float* partial;
  i64 n, block;
  Buf a_buf, b_buf, partial_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PairLoss p = *this;
    c.lines((p.n + p.block - 1) / p.block, Depth::two,
            [&](i64 i) {
              const i64 n = math::min(p.block, p.n - i * p.block);
              return both(c.get(p.a_buf, p.a + i * p.block, n), c.get(p.b_buf, p.b + i * p.block, n));
            },
            [&](i64 i, auto& in) {
              const F f = p.f;
              const auto a = in.first, b = in.second;
              const auto add = [](float x, float y) { return x + y; };
              const float loss = c.fold(a.n, 0.0f, add,
                                        [&](i64 j) { return math::select(f.counts(b[j]), f.value(a[j], b[j]), 0.0f); });
              const float counted =
                  c.fold(a.n, 0.0f, add, [&](i64 j) { return math::select(f.counts(b[j]), 1.0f, 0.0f); });
              auto partial = c.out(p.partial_buf, p.partial + 2 * i, 2);
              c.once([&] {
                partial.set(0, loss);
                partial.set(1, counted);
              });
              c.put(partial);
            });
  }
};

/// da = factor weight f', where an element counts, 0 elsewhere; weight is the loss's own gradient, in cluster memory.
template <class F>
struct PairLossGradient {
  static constexpr const char* label = F::gradient_label;
  F f;
  const float *a, *b, *weight;
  float* da;
  float factor;
  i64 n, block;
  Buf a_buf, b_buf, weight_buf, da_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PairLossGradient p = *this;
    const float scale = c.keep(p.weight_buf, p.weight, 1)[0] * p.factor;
    c.lines((p.n + p.block - 1) / p.block, Depth::two,
            [&](i64 i) {
              const i64 n = math::min(p.block, p.n - i * p.block);
              return both(c.get(p.a_buf, p.a + i * p.block, n), c.get(p.b_buf, p.b + i * p.block, n));
            },
            [&](i64 i, auto& in) {
              const F f = p.f;
              const float by = scale;
              const auto a = in.first, b = in.second;
              auto da = c.out(p.da_buf, p.da + i * p.block, a.n);
              c.each(a.n, [&](i64 j) { da.set(j, math::select(f.counts(b[j]), by * f.slope(a[j], b[j]), 0.0f)); });
              c.put(da);
            });
  }
};

/// Rows of `width` scores with a label each; cut into blocks.
struct LabelledRows {
  i64 rows, width, block;
  CORTADO_FN i64 blocks() const { return (width + block - 1) / block; }
  CORTADO_FN i64 lines() const { return rows * blocks(); }
  CORTADO_FN i64 row(i64 line) const { return line / blocks(); }
  CORTADO_FN i64 first(i64 line) const { return line % blocks() * block; }
  CORTADO_FN i64 count(i64 line) const { return math::min(block, width - first(line)); }
};

/// partial[i] = sum over line i of f's value of a score and whether it is the label's.
template <class F>
struct LabelLoss {
  static constexpr const char* label = F::label;
  F f;
  LabelledRows s;
  const float *x, *labels;
  float* partial;
  Buf x_buf, label_buf, partial_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const LabelLoss p = *this;
    c.lines(
        p.s.lines(), Depth::two,
        [&](i64 i) {
          return both(c.get(p.x_buf, p.x + p.s.row(i) * p.s.width + p.s.first(i), p.s.count(i)),
                      c.get(p.label_buf, p.labels + p.s.row(i), 1));
        },
        [&](i64 i, auto& in) {
          const F f = p.f;
          const auto x = in.first;
          const i64 hit = static_cast<i64>(static_cast<int>(in.second[0])) - p.s.first(i);
          const float loss = c.fold(
              x.n, 0.0f, [](float a, float b) { return a + b; }, [&](i64 j) { return f.value(x[j], j == hit); });
          auto partial = c.out(p.partial_buf, p.partial + i, 1);
          c.once([&] { partial.set(0, loss); });
          c.put(partial);
        });
  }
};

/// dx = factor weight f'; weight is the loss's own gradient, in cluster memory.
template <class F>
struct LabelLossGradient {
  static constexpr const char* label = F::gradient_label;
  F f;
  LabelledRows s;
  const float *x, *labels, *weight;
  float* dx;
  float factor;
  Buf x_buf, label_buf, weight_buf, dx_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const LabelLossGradient p = *this;
    const float scale = c.keep(p.weight_buf, p.weight, 1)[0] * p.factor;
    c.lines(
        p.s.lines(), Depth::two,
        [&](i64 i) {
          return both(c.get(p.x_buf, p.x + p.s.row(i) * p.s.width + p.s.first(i), p.s.count(i)),
                      c.get(p.label_buf, p.labels + p.s.row(i), 1));
        },
        [&](i64 i, auto& in) {
          const F f = p.f;
          const float by = scale;
          const auto x = in.first;
          const i64 hit = static_cast<i64>(static_cast<int>(in.second[0])) - p.s.first(i);
          auto dx = c.out(p.dx_buf, p.dx + p.s.row(i) * p.s.width + p.s.first(i), x.n);
          c.each(x.n, [&](i64 j) { dx.set(j, by * f.slope(x[j], j == hit)); });
          c.put(dx);
        });
  }
};

}  // namespace cortado
