#pragma once
#include <string>

#include "core/net/net.h"

namespace cortado {

/// Throws NumericError naming the first layer with NaN or Inf in its weights. Callers check before they score nets:
/// layers with a maximum or a comparison may hide such values.
void require_finite_weights(const Net& net);

/// "layer 'conv' or 'bn'": the layer, and those that work in place on its tops. A blob tells its last values alone, so
/// any of them may have brought a NaN there.
std::string makers_of(const Net& net, const std::string& layer);

/// Throws NumericError naming the first layer with NaN or Inf, if an output of the last forward has one. Waits for the
/// cluster.
void require_finite_outputs(Net& net);

}  // namespace cortado
