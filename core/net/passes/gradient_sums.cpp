#include <algorithm>

#include "core/net/passes/passes.h"

// A layer whose top several layers read adds their gradients itself, instead of the split behind it.
//
//   backward:   sum <--dx-- Split <--dx0, dx1--   ==>   sum <--dx0, dx1--
namespace cortado {

void passes::gradient_sums(NetGraph& graph) {
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    Net::Entry& entry = graph.layers[i];
    if (entry.is_absorbed || entry.top.size() != 1) continue;
    const std::size_t j = graph.reader_of(i);
    if (j == graph.layers.size()) continue;
    Net::Entry& split = graph.layers[j];
    const bool is_loss =
        std::any_of(split.loss_weights.begin(), split.loss_weights.end(), [](double w) { return w != 0; });
    if (!split.layer->traits().is_split || !split.need_backward || is_loss ||
        !NetGraph::offer(entry, epilogue::GradientSum{split.gradient_tops.size()}))
      continue;
    entry.gradient_tops = split.gradient_tops;
    split.is_added_up = true;
    graph.did(entry.layer->name() + " adds the gradients of " + split.layer->name());
  }
}

}  // namespace cortado
