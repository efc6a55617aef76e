#pragma once
#include "core/net/net.h"

namespace cortado {

/// Throws NumericError naming the first layer with NaN or Inf in its weights. Before nets are scored: a layer may hide
/// what is not a number (a maximum, a comparison).
void require_finite_weights(const Net& net);

/// Throws NumericError naming the first layer with NaN or Inf, if an output of the last forward has one. Waits.
void require_finite_outputs(const Net& net);

}  // namespace cortado
