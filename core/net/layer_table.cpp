#include "core/net/layer_table.h"

#include <map>

#include "core/base/mistakes.h"
#include "core/base/printable.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/close_name.h"
#include "core/formats/foreign_words.h"

namespace cortado {
namespace {
constexpr std::size_t most_names = 4;  // of layers of one type
}

std::vector<std::string> LayerTable::types() const {
  std::vector<std::string> types;
  for (const auto& entry : entries_) types.push_back(entry.first);
  return types;
}

const std::string& LayerTable::type_of(Role role) const {
  const auto found = roles_.find(role);
  require(found != roles_.end(), "every role has a layer type");
  return found->second;
}

bool LayerTable::plays(const caffe::LayerParameter& parameter, Role role) const {
  const auto found = roles_.find(role);
  return found != roles_.end() && found->second == parameter.type();
}

LayerTable::Entry LayerTable::entry_of(const caffe::LayerParameter& parameter) const {
  const auto found = entries_.find(parameter.type());
  if (found != entries_.end()) return found->second;
  return {nullptr,
          &Layer::keeps_bf16,
          &Layer::begins_bf16,
          &Layer::pixel_stride,
          &Layer::set_pixel_stride,
          &Layer::divide_batch};
}

bool LayerTable::keeps_bf16(const caffe::LayerParameter& parameter) const {
  return entry_of(parameter).keeps_bf16(parameter);
}
bool LayerTable::begins_bf16(const caffe::LayerParameter& parameter) const {
  return entry_of(parameter).begins_bf16(parameter);
}
PixelStride LayerTable::pixel_stride(const caffe::LayerParameter& parameter) const {
  return entry_of(parameter).pixel_stride(parameter);
}
void LayerTable::set_pixel_stride(caffe::LayerParameter& parameter, PixelStride stride) const {
  entry_of(parameter).set_pixel_stride(parameter, stride);
}
void LayerTable::divide_batch(caffe::LayerParameter& parameter, const BatchShare& share) const {
  entry_of(parameter).divide_batch(parameter, share);
}

std::string LayerTable::unknown_in(const caffe::NetParameter& net) const {
  struct Unknown {
    std::vector<std::string> names;  // of the first layers of the type
    std::size_t layers = 0;
  };
  std::vector<std::string> order;
  std::map<std::string, Unknown> unknown;
  for (const auto& layer : net.layer()) {
    if (has(layer.type())) continue;
    Unknown& found = unknown[layer.type()];
    if (++found.layers == 1) order.push_back(layer.type());
    if (found.names.size() < most_names) found.names.push_back("'" + layer.name() + "'");
  }
  std::string lines;
  bool all_advised = true;
  for (const auto& type : order) {
    const Unknown& found = unknown[type];
    std::string line = (found.layers > 1 ? "layers " : "layer ") + listed(found.names, found.layers) + ": ";
    const std::string advice = foreign_type(type), close = close_name(type, types());
    if (type.empty())
      line += found.layers > 1 ? "have no type" : "has no type";
    else
      line += "layer type '" + type + "' is not known";
    if (!advice.empty())
      line += " (" + advice + ")";
    else if (!close.empty())
      line += " (did you mean '" + close + "'?)";
    else
      all_advised = false;
    lines += (lines.empty() ? "" : "\n") + printable(line);
  }
  if (all_advised) return lines;
  return lines + "\nknown types: " + listed(types(), 0) + " (without them, " + end_of_net() + ")";
}

std::unique_ptr<Layer> LayerTable::make(const caffe::LayerParameter& parameter, const LayerContext& context) const {
  const auto found = entries_.find(parameter.type());
  if (found != entries_.end()) return found->second.make(parameter, context);
  caffe::NetParameter alone;
  *alone.add_layer() = parameter;
  throw Mistakes(lines_in(unknown_in(alone)));
}

}  // namespace cortado
