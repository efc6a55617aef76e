#include "app/onnx/import.h"

#include <algorithm>

#include "app/onnx/node_import.h"
#include "core/base/mistakes.h"

namespace cortado {
namespace {
constexpr i64 least_opset = 11;

const TakeTable& take_table() {
  static const TakeTable table = [] {
    TakeTable all;
    take_windows(all);
    take_functions(all);
    take_products(all);
    take_shapes(all);
    return all;
  }();
  return table;
}

bool is_standard(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

/// Goes through a graph's nodes, in order, and makes layers of them.
class Importer {
 public:
  Importer(const onnx::ModelProto& model, std::string origin)
      : graph_(model.graph()), origin_(std::move(origin)), needed_(static_cast<std::size_t>(graph_.node_size())) {
    for (const auto& set : model.opset_import())
      if (is_standard(set.domain())) to_.opset = set.version();
    if (to_.opset < least_opset)
      throw ConfigError(origin_, "is of opset " + std::to_string(to_.opset),
                        "export it with opset " + std::to_string(least_opset) + " or newer");
    to_.net.set_name(graph_.name());
  }

  caffe::NetParameter net() {
    find_needed();
    for (const auto& tensor : graph_.initializer()) {
      Value& value = to_.values[tensor.name()] = {};
      value.shape.assign(tensor.dims().begin(), tensor.dims().end());
      value.stored = &tensor;
      if (!counted(value.shape)) mistake("tensor '" + tensor.name() + "' has a shape that means nothing");
    }
    for (const auto& input : graph_.input())
      if (to_.values.count(input.name()) == 0) add_input(input);
    for (int i = 0; mistakes_.empty() && i < graph_.node_size(); ++i)
      if (needed_[static_cast<std::size_t>(i)]) add_or_note(graph_.node(i));
    if (mistakes_.empty()) check_outputs();
    if (!mistakes_.empty()) throw Mistakes(mistakes_);
    return std::move(to_.net);
  }

 private:
  void mistake(const std::string& text) { mistakes_.push_back(origin_ + ": " + text); }

  /// Nodes on which an output depends, and how many of these read each value.
  void find_needed() {
    for (const auto& output : graph_.output()) ++to_.readers[output.name()];
    for (int i = graph_.node_size() - 1; i >= 0; --i) {
      const auto& node = graph_.node(i);
      const bool is_read = std::any_of(node.output().begin(), node.output().end(),
                                       [&](const std::string& value) { return to_.readers.count(value) > 0; });
      needed_[static_cast<std::size_t>(i)] = is_read;
      if (!is_read) continue;
      for (const auto& input : node.input())
        if (!input.empty()) ++to_.readers[input];
    }
  }

  void add_input(const onnx::ValueInfoProto& input) {
    const auto& type = input.type().tensor_type();
    if (type.elem_type() != onnx::TensorProto::FLOAT)
      return mistake("input '" + input.name() + "' is not of type float; export the model in float");
    Value& value = to_.values[input.name()] = {};
    for (int d = 0; d < type.shape().dim_size(); ++d) {
      const auto& dim = type.shape().dim(d);
      if (d > 0 && dim.dim_value() < 1)
        return mistake("input '" + input.name() + "' leaves axis " + std::to_string(d) +
                       " open; export it with a fixed size");
      value.shape.push_back(dim.dim_value() < 1 ? 1 : dim.dim_value());
    }
    if (value.shape.empty() || counted(value.shape).value_or(most_values) >= most_values)
      return mistake("input '" + input.name() + "' has no shape; export it with one");
    value.is_input = true;
    value.blob = input.name();
    to_.names.insert(input.name());
    auto& layer = *to_.net.add_layer();
    layer.set_name(input.name());
    layer.set_type("Input");
    layer.add_top(input.name());
    auto& shape = *layer.mutable_input_param()->add_shape();
    for (const i64 size : value.shape) shape.add_dim(size);
  }

  /// Goes on behind a mistake, so that all nodes are named that cannot be said.
  void add_or_note(const onnx::NodeProto& node) {
    NodeImport one(node, to_);
    try {
      const auto take = take_table().find(node.op_type());
      bool is_known = true;
      for (const auto& input : node.input()) {
        if (input.empty() || to_.values.count(input) > 0) continue;
        if (lost_.count(input) == 0) one.cannot("it reads '" + input + "', which no node before it makes");
        is_known = false;
      }
      const bool is_folded = is_known && is_standard(node.domain()) && fold_node(one);
      if (!is_folded && (!is_standard(node.domain()) || take == take_table().end()) && node.op_type() != "Shape" &&
          node.op_type() != "Gather")
        one.cannot("Caffe's layers do not have it", "replace it in the model");
      if (!is_known)
        lost_.insert(node.output().begin(), node.output().end());
      else if (!is_folded && take == take_table().end())
        one.cannot("it is known of constants alone");
      else if (!is_folded)
        take->second(one);
    } catch (const FileError& error) { lose(node, error.what()); } catch (const ConfigError& error) {
      lose(node, error.what());
    } catch (const ShapeError& error) { lose(node, error.what()); }
  }

  void lose(const onnx::NodeProto& node, const std::string& what) {
    lines_.push_back(origin_ + ": " + what);
    lost_.insert(node.output().begin(), node.output().end());
  }

  void check_outputs() {
    mistakes_ = lines_;
    if (!mistakes_.empty()) return;
    for (const auto& output : graph_.output()) {
      const auto found = to_.values.find(output.name());
      if (found == to_.values.end())
        mistake("output '" + output.name() + "' is made by no node");
      else if (found->second.is_constant() || found->second.is_input || !found->second.pads.empty())
        mistake("output '" + output.name() + "' is computed by no layer");
    }
    if (graph_.output_size() == 0) mistake("the graph has no output");
  }

  const onnx::GraphProto& graph_;
  std::string origin_;
  std::vector<bool> needed_;  // by node
  ImportedNet to_;
  std::set<std::string> lost_;  // values that could not be made
  std::vector<std::string> mistakes_, lines_;
};
}  // namespace

caffe::NetParameter from_onnx(const onnx::ModelProto& model, const std::string& origin) {
  return Importer(model, origin).net();
}

}  // namespace cortado
