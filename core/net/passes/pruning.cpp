#include <set>

#include "core/net/backward_needs.h"
#include "core/net/passes/passes.h"

// Leaves out gradients that are zero because they reach no loss: layers whose tops contribute to none, and of a split
// the tops whose readers write no gradient. A net that says force_backward keeps its layers.
//
//                  +--> ip --> loss                            +--> ip --> loss
//   conv --x--Split|                    backward ==> conv <--x--|
//                  +--> accuracy                               (accuracy does not run, and nothing is added)
//
// Without this pass such gradients are computed, as zeros, and added.
namespace cortado {
namespace {

void prune_layers(NetGraph& graph) {
  const auto needs = backward_needs(graph);
  for (std::size_t i = 0; i < needs.size(); ++i) {
    Net::Entry& entry = graph.layers[i];
    if (entry.need_backward && !needs[i].runs) graph.did(entry.layer->name() + " does not run backward");
    entry.need_backward = needs[i].runs;
    entry.propagate_down = needs[i].propagate_down;
  }
}

void prune_splits(NetGraph& graph) {
  std::set<const Blob*> written;  // by a layer further on, or as a loss
  for (auto entry = graph.layers.rbegin(); entry != graph.layers.rend(); ++entry) {
    if (entry->layer->traits().is_split) {
      entry->gradient_tops.clear();
      for (std::size_t i = 0; i < entry->top.size(); ++i)
        if (entry->loss_weights[i] != 0 || written.count(entry->top[i]) != 0)
          entry->gradient_tops.push_back(entry->top[i]);
      if (entry->need_backward && entry->gradient_tops.size() < entry->top.size())
        graph.did(entry->layer->name() + " adds " + std::to_string(entry->gradient_tops.size()) + " of " +
                  std::to_string(entry->top.size()) + " gradients");
    }
    for (std::size_t i = 0; i < entry->bottom.size(); ++i)
      if (entry->need_backward && entry->propagate_down[i]) written.insert(entry->bottom[i]);
  }
}

}  // namespace

void passes::pruning(NetGraph& graph) {
  if (!graph.text.force_backward()) prune_layers(graph);
  prune_splits(graph);
}

}  // namespace cortado
