#pragma once
#include "core/machine/elementwise.h"
#include "layers/elementwise/functions.h"

namespace cortado {

/// Sequences of a cell with `width` values each, a row for each; a sequence's gates are four rows: input, forget,
/// output, candidate.
struct LstmRows : RowLines {
  CORTADO_FN i64 gate(i64 line) const { return row(line) * 4 * width + first(line); }
  template <class C>
  CORTADO_FN auto get_gates(C& c, Buf buf, const float* gates, i64 line) const {
    return c.get2d(buf, gates + gate(line), 4, count(line), width);
  }
  template <class C>
  CORTADO_FN auto out_gates(C& c, Buf buf, float* gates, i64 line) const {
    return c.out2d(buf, gates + gate(line), 4, count(line), width);
  }
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
    const auto fetch = [&](i64 i) {
      return gather(p.s.get_gates(c, p.gate_buf, p.gates, i), p.s.get(c, p.c_prev_buf, p.c_prev, i),
                    c.get(p.cont_buf, p.cont + p.s.row(i), 1));
    };
    const auto work = named([&](i64 i, auto gates, auto c_prev, auto cont) {
      const float goes_on = cont[0];
      auto activations = p.s.out_gates(c, p.activation_buf, p.activations, i);
      auto cell = p.s.out(c, p.c_buf, p.cell, i), h = p.s.out(c, p.h_buf, p.h, i);
      c.each(cell.n, [&](i64 j) {
        const auto input = functions::sigmoid(gates(0, j)), forget = goes_on * functions::sigmoid(gates(1, j)),
                   output = functions::sigmoid(gates(2, j)), candidate = functions::tanh(gates(3, j));
        const auto value = forget * c_prev[j] + input * candidate;
        activations.set(0, j, input);
        activations.set(1, j, forget);
        activations.set(2, j, output);
        activations.set(3, j, candidate);
        cell.set(j, value);
        h.set(j, output * functions::tanh(value));
      });
      c.put(activations);
      c.put(cell);
      c.put(h);
    });
    c.lines(p.s.lines(), Depth::two, fetch, work);
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
    const auto fetch = [&](i64 i) {
      return gather(p.s.get_gates(c, p.activation_buf, p.activations, i), p.s.get(c, p.c_prev_buf, p.c_prev, i),
                    p.s.get(c, p.c_buf, p.cell, i), p.s.get(c, p.dc_buf, p.dc, i), p.s.get(c, p.dh_buf, p.dh, i));
    };
    const auto work = named([&](i64 i, auto activations, auto c_prev, auto cell, auto dc, auto dh) {
      auto dgates = p.s.out_gates(c, p.dgate_buf, p.dgates, i);
      auto dc_prev = p.s.out(c, p.dc_prev_buf, p.dc_prev, i);
      c.each(cell.n, [&](i64 j) {
        const auto input = activations(0, j), forget = activations(1, j), output = activations(2, j),
                   candidate = activations(3, j), t = functions::tanh(cell[j]);
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
    c.lines(p.s.lines(), Depth::two, fetch, work);
  }
};

/// The row's scale times x.
struct ScaleRow {
  static constexpr const char* label = "scale_rows";
  template <class V>
  CORTADO_FN auto operator()(V x, float scale) const {
    return scale * x;
  }
};

/// base and the row's scale times x.
struct AddScaledRow {
  static constexpr const char* label = "add_scaled_rows";
  template <class V>
  CORTADO_FN auto operator()(V x, V base, float scale) const {
    return base + scale * x;
  }
};

}  // namespace cortado
