#include "core/net/backward_needs.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"

namespace cortado {
namespace {

bool learns(const Layer& layer) {
  for (std::size_t i = 0; i < layer.blobs().size(); ++i)
    if (layer.param_propagate_down(i)) return true;
  return false;
}

void check(const Net::Entry& entry, const BackwardNeed& need) {
  for (std::size_t i = 0; i < entry.bottom.size(); ++i)
    if (need.runs && need.propagate_down[i] && !entry.layer->allows_backward_to(i))
      throw ConfigError(
          "layer '" + entry.layer->name() + "'",
          "has no gradient for bottom '" + entry.bottom_names[i] + "', which comes from layers that learn",
          "say propagate_down for each bottom, false for this one");
}

/// Every gradient that there is.
void force(Net::Entry& entry, const BackwardNeed& need) {
  entry.need_backward = true;
  for (std::size_t i = 0; i < entry.bottom.size(); ++i)
    entry.propagate_down[i] = need.propagate_down[i] || entry.layer->allows_backward_to(i);
  for (std::size_t i = 0; i < entry.layer->blobs().size(); ++i)
    entry.layer->set_param_propagate_down(i, !entry.layer->is_statistic(i));
}

}  // namespace

std::vector<BackwardNeed> backward_needs(const NetGraph& graph) {
  std::vector<BackwardNeed> needs(graph.layers.size());
  std::set<std::string> under_loss, cut;
  for (std::size_t layer = graph.layers.size(); layer-- > 0;) {
    const Net::Entry& entry = graph.layers[layer];
    bool contributes = false, all_cut = true;
    for (std::size_t i = 0; i < entry.top.size(); ++i) {
      const std::string& name = entry.top_names[i];
      contributes = contributes || entry.loss_weights[i] != 0 || under_loss.count(name) != 0;
      all_cut = all_cut && cut.count(name) != 0;
    }
    BackwardNeed& need = needs[layer];
    need.runs = entry.need_backward && contributes && !all_cut;
    need.propagate_down = entry.propagate_down;
    if (!contributes || (entry.need_backward && all_cut))
      std::fill(need.propagate_down.begin(), need.propagate_down.end(), false);
    for (std::size_t i = 0; i < entry.bottom.size(); ++i) {
      if (contributes && !entry.layer->has_zero_gradient(i)) under_loss.insert(entry.bottom_names[i]);
      if (!need.propagate_down[i]) cut.insert(entry.bottom_names[i]);
    }
  }
  return needs;
}

void settle_backward(NetGraph& graph) {
  const auto needs = backward_needs(graph);
  for (std::size_t k = 0; k < needs.size(); ++k) check(graph.layers[k], needs[k]);
  for (std::size_t k = 0; k < needs.size(); ++k) {
    Net::Entry& entry = graph.layers[k];
    if (graph.text.force_backward()) {
      force(entry, needs[k]);
      continue;
    }
    bool propagates = false;
    for (std::size_t i = 0; i < entry.bottom.size(); ++i) {
      entry.propagate_down[i] =
          needs[k].propagate_down[i] || (entry.propagate_down[i] && entry.layer->allows_backward_to(i));
      propagates = propagates || entry.propagate_down[i];
    }
    entry.need_backward = needs[k].runs || (entry.need_backward && (propagates || learns(*entry.layer)));
  }
}

}  // namespace cortado
