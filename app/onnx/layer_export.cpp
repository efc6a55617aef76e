#include "app/onnx/layer_export.h"

#include <algorithm>

#include "core/base/error.h"

namespace cortado {

onnx::AttributeProto& NodeMaker::add(const std::string& name, onnx::AttributeProto::AttributeType type) {
  auto& attribute = *node_.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

NodeMaker& NodeMaker::set(const std::string& name, i64 value) {
  add(name, onnx::AttributeProto::INT).set_i(value);
  return *this;
}

NodeMaker& NodeMaker::set(const std::string& name, float value) {
  add(name, onnx::AttributeProto::FLOAT).set_f(value);
  return *this;
}

NodeMaker& NodeMaker::set(const std::string& name, const std::string& value) {
  add(name, onnx::AttributeProto::STRING).set_s(value);
  return *this;
}

NodeMaker& NodeMaker::set(const std::string& name, const std::vector<i64>& values) {
  add(name, onnx::AttributeProto::INTS).mutable_ints()->Assign(values.begin(), values.end());
  return *this;
}

i64 LayerExport::axis(int given) const { return given >= 0 ? given : given + static_cast<i64>(in().size()); }

std::string LayerExport::inner_name() { return text().name() + "/" + std::to_string(++made_); }

NodeMaker LayerExport::node(const std::string& type, const std::vector<std::string>& inputs,
                            const std::vector<std::string>& outputs) {
  auto& node = *graph_.add_node();
  node.set_op_type(type);
  const bool is_top = std::find(top_names.begin(), top_names.end(), outputs[0]) != top_names.end();
  node.set_name(is_top ? text().name() : outputs[0]);
  for (const auto& input : inputs) node.add_input(input);
  for (const auto& output : outputs) node.add_output(output);
  return NodeMaker(node);
}

std::string LayerExport::inner(const std::string& type, const std::vector<std::string>& inputs) {
  const std::string name = inner_name();
  node(type, inputs, name);
  return name;
}

std::string LayerExport::constant(const Shape& shape, const std::vector<float>& values) {
  auto& tensor = *graph_.add_initializer();
  tensor.set_name(inner_name());
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const i64 d : shape) tensor.add_dims(d);
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  return tensor.name();
}

std::string LayerExport::integers(const std::vector<i64>& values) {
  auto& tensor = *graph_.add_initializer();
  tensor.set_name(inner_name());
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<i64>(values.size()));
  tensor.set_raw_data(values.data(), values.size() * sizeof(i64));
  return tensor.name();
}

std::string LayerExport::reshaped(const std::string& value, const Shape& from, const Shape& to) {
  if (from == to) return value;
  return inner("Reshape", {value, integers(to)});
}

std::string LayerExport::affine(std::string value, float scale, float shift) {
  if (scale != 1) value = inner("Mul", {value, constant(scale)});
  if (shift != 0) value = inner("Add", {value, constant(shift)});
  return value;
}

void LayerExport::alias(const std::string& value, std::size_t top) { value_of_[entry_.top_names[top]] = value; }

void LayerExport::cannot(const std::string& what, const std::string& advice) const {
  throw ConfigError("layer '" + text().name() + "' (" + text().type() + ")", what, advice);
}

}  // namespace cortado
