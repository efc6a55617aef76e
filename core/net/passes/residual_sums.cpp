#include <algorithm>

#include "core/net/passes/passes.h"

// At the end of a residual block, a layer that works in place adds the other branch itself, and rectifies the sum if
// the sum's layer does. Its own top is then never made, so nobody may look at it.
//
//   conv --x--> bn (in place) --x--> sum + relu --y-->   ==>   conv --x--> bn + sum + relu --y-->
//                        other -----/                             other --/
namespace cortado {
namespace {

/// 1 where the layer has accepted no rectifier.
float slope_of(const Net::Entry& entry) {
  for (const Epilogue& work : entry.epilogues)
    if (const auto* const rectifier = std::get_if<epilogue::Rectifier>(&work)) return rectifier->by.slope;
  return 1;
}

bool is_made_before(const NetGraph& graph, const Blob* blob, std::size_t from, std::size_t to) {
  return std::none_of(
      graph.layers.begin() + static_cast<std::ptrdiff_t>(from), graph.layers.begin() + static_cast<std::ptrdiff_t>(to),
      [&](const Net::Entry& entry) { return std::find(entry.top.begin(), entry.top.end(), blob) != entry.top.end(); });
}

/// Layer i works in place on a blob that layer j, which reads it, adds to another one.
void take_sum(NetGraph& graph, std::size_t i, std::size_t j) {
  Net::Entry &entry = graph.layers[i], &sum = graph.layers[j];
  if (!sum.layer->traits().is_sum_of_two || sum.loss_weights[0] != 0) return;
  for (const auto* asked : {&entry.propagate_down, &sum.propagate_down})
    if (std::find(asked->begin(), asked->end(), false) != asked->end()) return;
  const std::size_t other = sum.bottom[0] == entry.top[0] ? 1 : 0;
  if (!is_made_before(graph, sum.bottom[other], i + 1, j)) return;
  if (!NetGraph::offer(entry, epilogue::Sum{slope_of(sum)})) return;
  entry.bottom.push_back(sum.bottom[other]);
  entry.bottom_names.push_back(sum.bottom_names[other]);
  entry.shaped_for.push_back(sum.shaped_for[other]);
  entry.propagate_down.push_back(true);
  entry.top = entry.gradient_tops = sum.top;
  entry.top_names = sum.top_names;
  graph.absorb(i, j);
}

}  // namespace

void passes::residual_sums(NetGraph& graph) {
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Net::Entry& entry = graph.layers[i];
    if (entry.is_absorbed || entry.top.size() != 1 || entry.bottom != entry.top) continue;
    const std::size_t j = graph.reader_of(i);
    if (j < graph.layers.size()) take_sum(graph, i, j);
  }
}

}  // namespace cortado
