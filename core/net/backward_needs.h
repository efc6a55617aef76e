#pragma once
#include <vector>

#include "core/net/net_graph.h"

namespace cortado {

/// What of a layer's backward reaches a loss.
struct BackwardNeed {
  bool runs = false;                 ///< the layer's backward at all
  std::vector<bool> propagate_down;  ///< by bottom
};

/// Backward runs where a layer learns, or lies on the way to one that does, and contributes to a loss (Caffe's rules).
std::vector<BackwardNeed> backward_needs(const NetGraph& graph);

/// Makes the layers' propagate_down and need_backward what can be computed, and what force_backward asks for. Throws
/// ConfigError where a gradient that reaches a loss cannot.
void settle_backward(NetGraph& graph);

}  // namespace cortado
