#include "core/net/passes/passes.h"

// In a net that only scores, a convolution applies the BatchNorm that works in place on its top, with the Scale and
// ReLU whose work that does: statistics are given then, so all of it is a map by channel that parameters decide.
//
//   conv --x--> bn + scale + relu (in place) --x-->   ==>   conv + bn + scale + relu --x-->
namespace cortado {

void passes::fixed_maps(NetGraph& graph) {
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const std::size_t j = graph.worker_behind(i);
    if (j == graph.layers.size()) continue;
    const auto map = graph.layers[j].layer->traits().fixed_map;
    if (map && NetGraph::offer(graph.layers[i], *map)) graph.absorb(i, j);
  }
}

}  // namespace cortado
