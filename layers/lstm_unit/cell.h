#pragma once
#include "core/machine/core_group.h"

namespace cortado {

/// One step of `sequences` LSTM cells of `width` values each, for LSTMUnit and LSTM. Arrays are sequences x width;
/// gates and activations are sequences x 4 width (input, forget, output, candidate). `cont` has one value per sequence.
struct LstmCell {
  i64 sequences = 1, width = 1;

  /// Queues the step; activations may be the gates.
  void forward(CoreGroup& group, const float* gates, const float* c_prev, const float* cont, float* activations,
               float* c, float* h) const;
  /// Queues backward; dgates may be the activations, dc_prev may be dc.
  void backward(CoreGroup& group, const float* activations, const float* c_prev, const float* c, const float* dc,
                const float* dh, float* dgates, float* dc_prev) const;
};

/// Queues y = base + scale[r] x for every row r of `width` values. base may be y; nullptr means 0.
void scale_rows(CoreGroup& group, i64 rows, i64 width, const float* scale, const float* x, const float* base, float* y);

}  // namespace cortado
