#include "app/onnx/node_import.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/formats/blob_proto.h"

namespace cortado {
namespace {
/// The module of PyTorch's that a weight belongs to: "layer1.0.conv1" of "layer1.0.conv1.weight"; empty if unknown.
std::string module_of(const std::string& weight) {
  const std::string end = ".weight";
  const bool has = weight.size() > end.size() && weight.compare(weight.size() - end.size(), end.size(), end) == 0;
  return has ? weight.substr(0, weight.size() - end.size()) : "";
}

/// A node's name without what exporters put around it: "layer1/0/conv1" of "/layer1/0/conv1/Conv".
std::string plain_name(const onnx::NodeProto& node) {
  std::string name = node.name();
  const auto slash = name.rfind('/');
  if (slash != std::string::npos && name.compare(slash + 1, node.op_type().size(), node.op_type()) == 0)
    name.erase(slash == 0 ? 1 : slash);
  while (!name.empty() && name[0] == '/') name.erase(0, 1);
  if (name.compare(0, 5, "node_") == 0) name.erase(0, 5);
  return name;
}
}  // namespace

const onnx::AttributeProto* NodeImport::attribute(const std::string& name) const {
  for (const auto& attribute : node_.attribute())
    if (attribute.name() == name) return &attribute;
  return nullptr;
}

i64 NodeImport::integer(const std::string& name, i64 otherwise) const {
  const auto* const found = attribute(name);
  return found == nullptr ? otherwise : found->i();
}

float NodeImport::number(const std::string& name, float otherwise) const {
  const auto* const found = attribute(name);
  return found == nullptr ? otherwise : found->f();
}

std::string NodeImport::word(const std::string& name, const std::string& otherwise) const {
  const auto* const found = attribute(name);
  return found == nullptr ? otherwise : found->s();
}

std::vector<i64> NodeImport::integers(const std::string& name, const std::vector<i64>& otherwise) const {
  const auto* const found = attribute(name);
  return found == nullptr ? otherwise : std::vector<i64>(found->ints().begin(), found->ints().end());
}

const Value& NodeImport::in(std::size_t i) const {
  if (!has(i)) cannot("lacks input " + std::to_string(i), "export the model again");
  return to_.values.at(input_name(i));
}

i64 NodeImport::axis(i64 given, i64 rank) const {
  const i64 axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis >= rank)
    cannot("axis " + std::to_string(given) + " lies outside of its input of " + std::to_string(rank) + " axes");
  return axis;
}

const std::string& NodeImport::blob_in(std::size_t i) const {
  if (in(i).is_constant()) cannot("its input " + std::to_string(i) + " is a constant, and must be computed");
  if (!in(i).pads.empty())
    cannot("its input " + std::to_string(i) + " is padded", "padding is known before Conv and pools");
  return in(i).blob;
}

std::shared_ptr<const FixedTensor> NodeImport::constant(std::size_t i) const {
  const Value& value = in(i);
  if (value.constant != nullptr) return value.constant;
  if (value.stored == nullptr)
    cannot("its input " + std::to_string(i) + " must be constant, and is computed",
           "export the model with fixed sizes");
  return std::make_shared<FixedTensor>(constant_of(*value.stored, input_name(i)));
}

std::vector<float> NodeImport::floats(std::size_t i) const {
  const auto values = constant(i);
  if (!values->is_integer) return values->floats;
  return {values->integers.begin(), values->integers.end()};
}

float NodeImport::scalar(std::size_t i) const {
  const auto values = floats(i);
  if (values.size() != 1) cannot("its input " + std::to_string(i) + " must be one number");
  return values[0];
}

std::vector<i64> NodeImport::whole(std::size_t i) const {
  const auto values = constant(i);
  if (!values->is_integer) cannot("its input " + std::to_string(i) + " must hold integers");
  return values->integers;
}

std::vector<i64> NodeImport::integers_of(const std::string& attribute, std::size_t i,
                                         const std::vector<i64>& otherwise) const {
  return has(i) ? whole(i) : integers(attribute, otherwise);
}

bool NodeImport::is_only_reader(std::size_t i) const {
  const Value& value = in(i);
  return value.is_own && to_.readers[input_name(i)] == 1 && !value.is_input && !value.is_constant();
}

caffe::LayerParameter* NodeImport::only_maker(std::size_t i) {
  if (!is_only_reader(i)) return nullptr;
  auto& layers = *to_.net.mutable_layer();
  for (int l = layers.size() - 1; l >= 0; --l) {
    const auto& bottoms = layers[l].bottom();
    if (std::find(bottoms.begin(), bottoms.end(), in(i).blob) != bottoms.end() &&
        std::find(layers[l].top().begin(), layers[l].top().end(), in(i).blob) == layers[l].top().end())
      return nullptr;
    if (layers[l].top_size() == 1 && layers[l].top(0) == in(i).blob) return &layers[l];
  }
  return nullptr;
}

std::string NodeImport::new_name(const std::string& suffix) {
  if (name_.empty()) {
    for (std::size_t i = 1; i < inputs() && name_.empty(); ++i) name_ = module_of(input_name(i));
    if (name_.empty()) name_ = plain_name(node_);
    if (name_.empty()) name_ = type() + "_" + std::to_string(to_.net.layer_size());
  }
  std::string name = name_ + suffix;
  for (int again = 2; !to_.names.insert(name).second; ++again) name = name_ + suffix + "_" + std::to_string(again);
  return name;
}

caffe::LayerParameter& NodeImport::add_inner(const std::string& type, const std::vector<std::string>& bottoms,
                                             const std::string& suffix) {
  auto& layer = *to_.net.add_layer();
  layer.set_name(new_name(suffix));
  layer.set_type(type);
  for (const auto& bottom : bottoms) layer.add_bottom(bottom);
  layer.add_top(layer.name());
  return layer;
}

caffe::LayerParameter& NodeImport::add(const std::string& type, const std::vector<std::size_t>& bottoms,
                                       const Shape& shape) {
  std::vector<std::string> blobs;
  const bool takes_pads = type == "Convolution" || type == "Pooling";
  for (const std::size_t i : bottoms) blobs.push_back(takes_pads && !in(i).pads.empty() ? in(i).blob : blob_in(i));
  auto& layer = add_inner(type, blobs, "");
  result(layer.top(0), shape);
  return layer;
}

caffe::LayerParameter& NodeImport::add_in_place(const std::string& type, const Shape& shape) {
  auto& layer = add(type, {0}, shape);
  if (!is_only_reader(0)) return layer;
  layer.set_top(0, layer.bottom(0));
  result(layer.top(0), shape);
  return layer;
}

Value& NodeImport::output(std::size_t i) { return to_.values[node_.output(static_cast<int>(i))]; }

void NodeImport::result(const std::string& blob, const Shape& shape, std::size_t i) {
  if (counted(shape).value_or(most_values) >= most_values) cannot("its result would be too large");
  Value& value = output(i) = {};
  value.shape = shape;
  value.blob = blob;
}

void NodeImport::result(FixedTensor constant, std::size_t i) {
  Value& value = output(i) = {};
  value.shape = constant.shape;
  value.constant = std::make_shared<const FixedTensor>(std::move(constant));
}

void NodeImport::flatten_result(const Shape& shape) {
  const std::string made = output(0).blob;
  result(add_inner("Flatten", {made}, "_flat").top(0), shape);
}

void NodeImport::undo_maker(const caffe::LayerParameter& maker) {
  const Shape& turned = in().shape;
  Shape shape(turned.size());
  for (std::size_t d = 0; d < turned.size(); ++d) shape[maker.permute_param().order(static_cast<int>(d))] = turned[d];
  result(maker.bottom(0), shape);
  output(0).is_own = false;  // others may read it too
  auto& layers = *to_.net.mutable_layer();
  for (int l = 0; l < layers.size(); ++l)
    if (&layers[l] == &maker) return layers.DeleteSubrange(l, 1);
}

void NodeImport::slice(std::size_t axis, const std::vector<i64>& sizes) {
  auto& layer = add_inner("Slice", {blob_in(0)}, "");
  auto& p = *layer.mutable_slice_param();
  if (axis != 1) p.set_axis(static_cast<int>(axis));
  Shape shape = in().shape;
  i64 at = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    shape[axis] = sizes[i];
    if (i > 0) {
      p.add_slice_point(static_cast<std::uint32_t>(at));
      layer.add_top(new_name("_" + std::to_string(i)));
    }
    at += sizes[i];
    if (output_is_unused(i)) {
      auto& silence = add_inner("Silence", {layer.top(static_cast<int>(i))}, "_unread");
      silence.clear_top();
    }
    result(layer.top(static_cast<int>(i)), shape, i);
  }
}

void NodeImport::cut(std::size_t axis, i64 begin, i64 end) {
  Shape shape = in().shape;
  const i64 size = shape[axis];
  auto& layer = add_inner("Slice", {blob_in(0)}, "");
  auto& p = *layer.mutable_slice_param();
  if (axis != 1) p.set_axis(static_cast<int>(axis));
  layer.clear_top();
  for (const i64 point : {begin, end})
    if (point > 0 && point < size) p.add_slice_point(static_cast<std::uint32_t>(point));
  std::vector<std::string> unread;
  if (begin > 0) unread.push_back(*layer.add_top() = new_name("_before"));
  layer.add_top(layer.name());
  if (end < size) unread.push_back(*layer.add_top() = new_name("_behind"));
  add_inner("Silence", unread, "_unread").clear_top();
  shape[axis] = end - begin;
  result(layer.name(), shape);
}

bool NodeImport::output_is_unused(std::size_t i) const {
  const auto found = to_.readers.find(node_.output(static_cast<int>(i)));
  return found == to_.readers.end() || found->second == 0;
}

void NodeImport::pass_on(std::size_t i) {
  Value value = in(i);
  value.is_own = value.is_own && to_.readers[input_name(i)] == 1;
  output(0) = value;
}

void NodeImport::add_blob(const Shape& shape, const std::vector<float>& values, caffe::LayerParameter& layer) {
  to_proto(shape, values, {}, *layer.add_blobs());
}

void NodeImport::cannot(const std::string& what, const std::string& advice) const {
  const std::string name = node_.name().empty() && node_.output_size() > 0 ? node_.output(0) : node_.name();
  throw ConfigError("node '" + name + "' (" + type() + ")", what, advice);
}

}  // namespace cortado
