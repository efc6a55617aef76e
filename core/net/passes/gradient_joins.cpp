#include "core/base/error.h"
#include "core/net/passes/passes.h"

// A sum's layer gets two gradients of its top. The layer that makes the second one adds it to the first as it makes it,
// and rectifies both. The result is the gradient of what was added, which then lies in the first one's place.
//
//   backward:   bn + sum <--dy0-- a            bn + sum <----- a + dy1 <--dy1-- b
//                        <--dy1-- b     ==>                  (a runs last, because it stands first)
namespace cortado {
namespace {

/// What entry has accepted; nullptr: no sum.
const epilogue::Sum* sum_of(const Net::Entry& entry) {
  for (const Epilogue& work : entry.epilogues)
    if (const auto* const sum = std::get_if<epilogue::Sum>(&work)) return sum;
  return nullptr;
}

/// The reader of one of two gradients that runs last, and the other gradient.
struct Last {
  Net::Entry* reader = nullptr;
  Blob* other = nullptr;
};

/// No reader where not both gradients are made.
Last last_of(NetGraph& graph, const Layer::Blobs& tops) {
  Last last;  // in backward's order: the first that reads either top
  for (Net::Entry& reader : graph.layers) {
    if (reader.is_absorbed || reader.is_added_up) continue;
    for (std::size_t k = 0; k < reader.bottom.size(); ++k)
      for (const std::size_t top : {0, 1}) {
        if (reader.bottom[k] != tops[top]) continue;
        if (!reader.need_backward || !reader.propagate_down[k]) return {};
        if (last.reader == nullptr) last = {&reader, tops[1 - top]};
      }
  }
  return last;
}

}  // namespace

void passes::gradient_joins(NetGraph& graph) {
  for (Net::Entry& entry : graph.layers) {
    const epilogue::Sum* const sum = sum_of(entry);
    if (sum == nullptr || entry.is_absorbed || entry.gradient_tops.size() != 2) continue;
    const Last last = last_of(graph, entry.gradient_tops);
    if (last.reader == nullptr || !NetGraph::offer(*last.reader, epilogue::JoinGradient{last.other, sum->slope}))
      continue;
    require(NetGraph::offer(entry, epilogue::JoinedGradient{}), "who accepts a sum accepts its joined gradient");
    entry.joined_in = last.other;
    graph.did(last.reader->layer->name() + " joins the gradients of " + entry.top_names[0]);
  }
}

}  // namespace cortado
