#include "core/net/net_graph.h"

#include <algorithm>

#include "core/net/name_memory.h"
#include "core/net/passes/passes.h"

namespace cortado {
namespace {

/// The choices for one layer: "conv1/forward" becomes "forward".
PlanBook plans_of(const PlanBook& all, const std::string& layer) {
  PlanBook own;
  for (const auto& [key, candidate] : all) {
    const std::size_t slash = key.rfind('/');
    if (slash != std::string::npos && key.compare(0, slash, layer) == 0) own[key.substr(slash + 1)] = candidate;
  }
  return own;
}

}  // namespace

NetGraph::NetGraph(const caffe::NetParameter& given, const NetOptions& its_options, const LayerContext& context)
    : options(its_options), text(given), context_(context) {
  check_without(options.without);
  for (const auto& layer : given.layer()) named.insert(layer.name());
  for (const Pass& pass : net_passes()) reports.push_back({pass.name, is_off(pass.name), {}});
}

Layer& NetGraph::coming() {
  coming_.resize(static_cast<std::size_t>(text.layer_size()));
  auto& layer = coming_[static_cast<std::size_t>(next)];
  if (layer != nullptr) return *layer;
  caffe::LayerParameter& parameter = *text.mutable_layer(next);
  if (!parameter.has_phase()) parameter.set_phase(text.state().phase());
  layer = options.layers->make(parameter, context_);
  PlanBook plans = plans_of(options.plans, layer->name());
  if (is_off("layouts")) plans[layout_direction] = to_string(Layout::nchw);
  naming("layer '" + layer->name() + "'", [&] { layer->choose_plans(plans); });
  return *layer;
}

std::unique_ptr<Layer> NetGraph::take_coming() {
  coming();
  return std::move(coming_[static_cast<std::size_t>(next)]);
}

void NetGraph::insert(const caffe::LayerParameter& layer) {
  coming_.resize(static_cast<std::size_t>(text.layer_size()));
  coming_.insert(coming_.begin() + next, nullptr);
  *text.add_layer() = layer;
  for (int i = text.layer_size() - 1; i > next; --i) text.mutable_layer()->SwapElements(i, i - 1);
}

void NetGraph::rename_blob(const std::string& from, const std::string& to) {
  auto node = blobs.extract(from);
  node.key() = to;
  blobs.insert(std::move(node));
  unused.erase(from);
  unused.insert(to);
  std::replace(blob_names.begin(), blob_names.end(), from, to);
  for (Net::Entry& entry : layers)
    for (auto* names : {&entry.bottom_names, &entry.top_names}) std::replace(names->begin(), names->end(), from, to);
}

std::size_t NetGraph::reader_of(std::size_t layer) const {
  const Blob* const top = layers[layer].top[0];
  const auto reads = [&](const Net::Entry& entry) {
    return !entry.is_absorbed && std::find(entry.bottom.begin(), entry.bottom.end(), top) != entry.bottom.end();
  };
  return static_cast<std::size_t>(
      std::find_if(layers.begin() + static_cast<std::ptrdiff_t>(layer) + 1, layers.end(), reads) - layers.begin());
}

bool NetGraph::works_in_place(std::size_t reader, std::size_t maker) const {
  const Net::Entry& entry = layers[reader];
  return entry.bottom == layers[maker].top && entry.top == entry.bottom && entry.loss_weights[0] == 0;
}

std::size_t NetGraph::worker_behind(std::size_t maker) const {
  const std::size_t none = layers.size();
  if (layers[maker].is_absorbed || layers[maker].top.size() != 1) return none;
  const std::size_t reader = reader_of(maker);
  return reader < none && works_in_place(reader, maker) ? reader : none;
}

bool NetGraph::offer(Net::Entry& entry, const Epilogue& work) {
  if (!entry.layer->accept(work)) return false;
  entry.epilogues.push_back(work);
  return true;
}

void NetGraph::absorb(std::size_t by, std::size_t of) {
  Net::Entry &doer = layers[by], &done = layers[of];
  done.is_absorbed = true;
  doer.absorbed.push_back(of);
  doer.absorbed.insert(doer.absorbed.end(), done.absorbed.begin(), done.absorbed.end());
  done.absorbed.clear();
  did(doer.layer->name() + " does the work of " + done.layer->name());
}

void NetGraph::begin(const std::string& pass) {
  at_work_ = &*std::find_if(reports.begin(), reports.end(), [&](const auto& report) { return report.pass == pass; });
}

std::set<const Blob*> NetGraph::seen() const {
  std::set<const Blob*> outputs;
  for (const auto& name : unused) outputs.insert(blobs.at(name).blob.get());
  return outputs;
}

void NetGraph::did(const std::string& what) { at_work_->did.push_back(what); }

}  // namespace cortado
