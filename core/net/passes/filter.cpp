#include <algorithm>

#include "core/base/error.h"
#include "core/base/mistakes.h"
#include "core/net/passes/net_text.h"
#include "core/net/passes/passes.h"

// Keeps the layers that belong to the net's phase, level and stages: those without rules, those that meet an `include`,
// those that meet no `exclude`. What is left must be layers of known types.
//
//   data (TRAIN), data (TEST), conv, accuracy (TEST), loss   ==>   data, conv, loss          in phase TRAIN
namespace cortado {
namespace {
bool has_stage(const caffe::NetState& state, const std::string& stage) {
  return std::find(state.stage().begin(), state.stage().end(), stage) != state.stage().end();
}

bool belongs(const caffe::LayerParameter& layer, const caffe::NetState& state) {
  if (layer.include_size() > 0 && layer.exclude_size() > 0)
    throw ConfigError("layer '" + layer.name() + "'", "has both include and exclude rules", "keep one kind");
  const auto met = [&](const caffe::NetStateRule& rule) { return meets(state, rule); };
  if (layer.include_size() > 0) return std::any_of(layer.include().begin(), layer.include().end(), met);
  return std::none_of(layer.exclude().begin(), layer.exclude().end(), met);
}

std::string text_of(const caffe::NetState& state) {
  std::string text = state.phase() == caffe::TRAIN ? "TRAIN" : "TEST";
  for (const auto& stage : state.stage()) text += ", " + stage;
  return text;
}
}  // namespace

bool meets(const caffe::NetState& state, const caffe::NetStateRule& rule) {
  if (rule.has_phase() && rule.phase() != state.phase()) return false;
  if (rule.has_min_level() && state.level() < rule.min_level()) return false;
  if (rule.has_max_level() && state.level() > rule.max_level()) return false;
  const auto present = [&](const std::string& stage) { return has_stage(state, stage); };
  return std::all_of(rule.stage().begin(), rule.stage().end(), present) &&
         std::none_of(rule.not_stage().begin(), rule.not_stage().end(), present);
}

caffe::NetParameter filter_layers(const caffe::NetParameter& net) {
  caffe::NetParameter filtered = net;
  filtered.clear_layer();
  for (const auto& layer : net.layer())
    if (belongs(layer, net.state())) *filtered.add_layer() = layer;
  return filtered;
}

void passes::filter(NetGraph& graph) {
  const caffe::NetParameter given = std::move(graph.text);
  graph.text = filter_layers(given);
  const std::string unknown = graph.options.layers->unknown_in(graph.text);
  if (!unknown.empty()) throw Mistakes(lines_in(unknown));
  if (graph.text.layer_size() == 0)
    throw ConfigError("net '" + given.name() + "'",
                      given.layer_size() == 0 ? "has no layers" : "has no layers in its phase, level and stages",
                      "check the file, and rules of layers");
  graph.did("keeps " + std::to_string(graph.text.layer_size()) + " of " + std::to_string(given.layer_size()) +
            " layers for " + text_of(given.state()));
}

}  // namespace cortado
