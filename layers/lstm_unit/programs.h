#pragma once
#include "core/machine/program.h"
#include "layers/elementwise/functions.h"

namespace cortado {

/// N sequences of a cell with D values; a sequence's gates are 4 D values: input, forget, output, candidate. Rows are
/// cut into blocks.
struct LstmRows {
  i64 sequences, width, block;
  CORTADO_FN i64 blocks() const { return (width + block - 1) / block; }
  CORTADO_FN i64 lines() const { return sequences * blocks(); }
  CORTADO_FN i64 sequence(i64 line) const { return line / blocks(); }
  CORTADO_FN i64 first(i64 line) const { return line % blocks() * block; }
  CORTADO_FN i64 count(i64 line) const { return math::min(block, width - first(line)); }
  CORTADO_FN i64 value(i64 line) const { return sequence(line) * width + first(line); }
  CORTADO_FN i64 gate(i64 line) const { return sequence(line) * 4 * width + first(line); }
};

/// One step of Caffe's LSTMUnit: gates become i, f, o = sigmoid and g = tanh of what they were, f times whether the
/// sequence goes on (`cont`); c = f c_prev + i g, h = o tanh(c).
struct LstmForward {
  static constexpr const char* label = "lstm_forward";
  LstmRows s;
  const float *gates, *c_prev, *cont;
  float *activations, *cell, *h;  // activations may be gates
  Buf gate_buf, c_prev_buf, cont_buf, activation_buf, c_buf, h_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const LstmForward p = *this;
    c.lines(
        p.s.lines(), Depth::two,
        [&](i64 i) {
          const i64 n = p.s.count(i);
          return both(
              c.get2d(p.gate_buf, p.gates + p.s.gate(i), 4, n, p.s.width),
              both(c.get(p.c_prev_buf, p.c_prev + p.s.value(i), n), c.get(p.cont_buf, p.cont + p.s.sequence(i), 1)));
        },
        [&](i64 i, auto& in) {
          const auto gates = in.first;
          const auto c_prev = in.second.first;
          const float goes_on = in.second.second[0];
          const i64 n = c_prev.n;
          auto activations = c.out2d(p.activation_buf, p.activations + p.s.gate(i), 4, n, p.s.width);
          auto cell = c.out(p.c_buf, p.cell + p.s.value(i), n);
          auto h = c.out(p.h_buf, p.h + p.s.value(i), n);
          c.each(n, [&](i64 j) {
            const auto input = elementwise::sigmoid(gates(0, j)), forget = goes_on * elementwise::sigmoid(gates(1, j)),
                       output = elementwise::sigmoid(gates(2, j)), candidate = elementwise::tanh(gates(3, j));
            const auto value = forget * c_prev[j] + input * candidate;
            activations.set(0, j, input);
            activations.set(1, j, forget);
            activations.set(2, j, output);
            activations.set(3, j, candidate);
            cell.set(j, value);
            h.set(j, output * elementwise::tanh(value));
          });
          c.put(activations);
          c.put(cell);
          c.put(h);
        });
  }
};

/// The way back: from the gradients of c and h to those of the gates and of c_prev.
struct LstmBackward {
  static constexpr const char* label = "lstm_backward";
  LstmRows s;
  const float *activations, *c_prev, *cell, *dc, *dh;
  float *dgates, *dc_prev;  // dgates may be activations, dc_prev may be dc
  Buf activation_buf, c_prev_buf, c_buf, dc_buf, dh_buf, dgate_buf, dc_prev_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const LstmBackward p = *this;
    c.lines(
        p.s.lines(), Depth::two,
        [&](i64 i) {
          const i64 n = p.s.count(i), at = p.s.value(i);
          return both(
              both(c.get2d(p.activation_buf, p.activations + p.s.gate(i), 4, n, p.s.width),
                   c.get(p.c_prev_buf, p.c_prev + at, n)),
              both(c.get(p.c_buf, p.cell + at, n), both(c.get(p.dc_buf, p.dc + at, n), c.get(p.dh_buf, p.dh + at, n))));
        },
        [&](i64 i, auto& in) {
          const auto activations = in.first.first;
          const auto c_prev = in.first.second, cell = in.second.first, dc = in.second.second.first,
                     dh = in.second.second.second;
          const i64 n = cell.n;
          auto dgates = c.out2d(p.dgate_buf, p.dgates + p.s.gate(i), 4, n, p.s.width);
          auto dc_prev = c.out(p.dc_prev_buf, p.dc_prev + p.s.value(i), n);
          c.each(n, [&](i64 j) {
            const auto input = activations(0, j), forget = activations(1, j), output = activations(2, j),
                       candidate = activations(3, j), t = elementwise::tanh(cell[j]);
            const auto inner = dc[j] + dh[j] * output * (1.0f - t * t);
            const auto from_forget = inner * c_prev[j], from_output = dh[j] * t;
            dgates.set(0, j, inner * candidate * input * (1.0f - input));
            dgates.set(1, j, from_forget * forget * (1.0f - forget));
            dgates.set(2, j, from_output * output * (1.0f - output));
            dgates.set(3, j, inner * input * (1.0f - candidate * candidate));
            dc_prev.set(j, inner * forget);
          });
          c.put(dgates);
          c.put(dc_prev);
        });
  }
};

/// y = base + scale[r] x for every row r of `width` values; base may be null (0) or y.
struct ScaleRows {
  static constexpr const char* label = "scale_rows";
  const float *x, *scale, *base;
  float* y;
  i64 rows, width, block;
  Buf x_buf, scale_buf, base_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const ScaleRows p = *this;
    const i64 blocks = (p.width + p.block - 1) / p.block;
    c.lines(
        p.rows * blocks, Depth::two,
        [&](i64 i) {
          const i64 first = i % blocks * p.block, at = i / blocks * p.width + first;
          const i64 n = math::min(p.block, p.width - first);
          return both(c.get(p.scale_buf, p.scale + i / blocks, 1),
                      both(c.get(p.x_buf, p.x + at, n), c.get(p.base_buf, (p.base ? p.base : p.x) + at, n)));
        },
        [&](i64 i, auto& in) {
          const float scale = in.first[0];
          const auto x = in.second.first, base = in.second.second;
          auto y = c.out(p.y_buf, p.y + i / blocks * p.width + i % blocks * p.block, x.n);
          if (p.base)
            c.each(x.n, [&](i64 j) { y.set(j, base[j] + scale * x[j]); });
          else
            c.each(x.n, [&](i64 j) { y.set(j, scale * x[j]); });
          c.put(y);
        });
  }
};

}  // namespace cortado
