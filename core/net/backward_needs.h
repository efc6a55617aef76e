#pragma once
#include <vector>

#include "core/net/net_graph.h"

namespace cortado {

/// The part of a layer's backward that a loss reaches.
struct BackwardNeed {
  bool runs = false;                 ///< the layer's backward runs
  std::vector<bool> propagate_down;  ///< for each bottom, whether backward makes its gradient
};

/// Backward runs where a layer learns, or lies on the way to one that does, and contributes to a loss (Caffe's rules).
std::vector<BackwardNeed> backward_needs(const NetGraph& graph);

/// Sets the layers' propagate_down and need_backward to what can be computed and what force_backward wants. Throws
/// ConfigError where a gradient that reaches a loss cannot be computed.
void settle_backward(NetGraph& graph);

}  // namespace cortado
