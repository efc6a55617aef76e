#include <algorithm>

#include "core/net/passes/passes.h"

// Layers do the work of those that follow in place: one pass over memory instead of several. Nothing is seen of it: a
// blob that is overwritten in place never showed what stood there before.
//
//   conv --x--> relu (in place) --x--> pool   ==>   conv + relu --x--> pool
//   bn --x--> scale, relu (in place) --x-->   ==>   bn + scale + relu --x-->
namespace cortado {
namespace {

/// What layer `next` would be as work of layer `entry`, in whose top it works.
std::optional<Epilogue> work_of(Net::Entry& next, const Net::Entry& entry, bool only_scores) {
  const auto& asked = entry.propagate_down;
  const bool all = !next.need_backward || std::find(asked.begin(), asked.end(), false) == asked.end();
  const Traits traits = next.layer->traits();
  if (traits.affine) return epilogue::ScaleAndBias{*traits.affine, all};
  if (traits.rectifier && traits.rectifier->slope >= 0)
    return epilogue::Rectifier{*traits.rectifier, all, !only_scores};
  return {};
}

}  // namespace

void passes::epilogues(NetGraph& graph) {
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    Net::Entry& entry = graph.layers[i];
    for (std::size_t j = graph.worker_behind(i); j < graph.layers.size(); j = graph.worker_behind(i)) {
      const auto work = work_of(graph.layers[j], entry, graph.options.only_scores);
      if (!work || !NetGraph::offer(entry, *work)) break;
      graph.absorb(i, j);
    }
  }
}

}  // namespace cortado
