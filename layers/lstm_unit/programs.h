#pragma once
#include "core/machine/elementwise.h"
#include "core/machine/view.h"
#include "layers/elementwise/functions.h"

namespace cortado {

/// Gates of a cell, whose values are rows, one for each sequence. A sequence's gates are four rows: input, forget,
/// output, candidate.
struct GateLines : RowLines {
  CORTADO_FN i64 most() const { return 4 * block; }
  CORTADO_FN BlockAt where(i64 line) const { return {row(line) * 4 * width + first(line), 4, count(line), width}; }
};

/// One step of Caffe's LSTMUnit: gates become i, f, o = sigmoid and g = tanh of what they were, f times whether the
/// sequence goes on (`cont`); c = f c_prev + i g, h = o tanh(c).
struct LstmForward {
  static constexpr const char* label = "lstm_forward";
  View<GateLines, const float> gates;
  Lines<const float> c_prev;
  View<RowValues, const float> cont;
  View<GateLines, float> activations;  ///< may be gates
  Lines<float> cell, h;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const LstmForward p = *this;
    each_line(c, gather(p.gates, p.c_prev, p.cont), [&](i64 i, auto gates, auto c_prev, auto cont) {
      const float goes_on = cont[0];
      auto activations = p.activations.out(c, i);
      auto cell = p.cell.out(c, i), h = p.h.out(c, i);
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
  }
};

/// The way back: from the gradients of c and h to those of the gates and of c_prev.
struct LstmBackward {
  static constexpr const char* label = "lstm_backward";
  View<GateLines, const float> activations;
  Lines<const float> c_prev, cell, dc, dh;
  View<GateLines, float> dgates;  ///< may be activations
  Lines<float> dc_prev;           ///< may be dc

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const LstmBackward p = *this;
    each_line(c, gather(p.activations, p.c_prev, p.cell, p.dc, p.dh),
              [&](i64 i, auto activations, auto c_prev, auto cell, auto dc, auto dh) {
                auto dgates = p.dgates.out(c, i);
                auto dc_prev = p.dc_prev.out(c, i);
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
