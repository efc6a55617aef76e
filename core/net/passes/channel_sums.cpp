#include "core/net/passes/passes.h"

// A layer that makes a blob leaves sums over its channels for the one that works in place on it: BatchNorm then need
// not read the blob for its statistics.
//
//   conv --x--> bn (in place)   ==>   conv --x--> bn
//                                        --sums-->
namespace cortado {

void passes::channel_sums(NetGraph& graph) {
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const std::size_t j = graph.worker_behind(i);
    if (j == graph.layers.size()) continue;
    Net::Entry& entry = graph.layers[i];
    ChannelSums* const sums = graph.layers[j].layer->traits().sums;
    if (sums != nullptr && NetGraph::offer(entry, epilogue::TopSums{sums}))
      graph.did(entry.layer->name() + " may leave sums for " + graph.layers[j].layer->name());
  }
}

}  // namespace cortado
