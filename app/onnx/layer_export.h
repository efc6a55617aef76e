#pragma once
#include <map>
#include <string>
#include <vector>

#include "app/onnx/onnx.pb.h"
#include "core/formats/caffe.pb.h"
#include "core/net/net.h"

namespace cortado {

/// A node under construction.
class NodeMaker {
 public:
  explicit NodeMaker(onnx::NodeProto& node) : node_(node) {}
  NodeMaker& set(const std::string& name, i64 value);
  NodeMaker& set(const std::string& name, float value);
  NodeMaker& set(const std::string& name, const std::string& value);
  NodeMaker& set(const std::string& name, const std::vector<i64>& values);

 private:
  onnx::AttributeProto& add(const std::string& name, onnx::AttributeProto::AttributeType type);
  onnx::NodeProto& node_;
};

/// One layer on its way to ONNX: its text, its values, the names of what it reads and makes, and the graph to which its
/// nodes go.
class LayerExport {
 public:
  LayerExport(const Net::Entry& entry, onnx::GraphProto& graph, std::map<std::string, std::string>& value_of)
      : entry_(entry), graph_(graph), value_of_(value_of) {}

  const Layer& layer() const { return *entry_.layer; }
  const caffe::LayerParameter& text() const { return layer().parameter(); }
  std::size_t bottoms() const { return entry_.bottom.size(); }
  std::size_t tops() const { return entry_.top.size(); }
  /// The shape of a bottom, before the layer changes it where it works in place, and of a top.
  const Shape& in(std::size_t i = 0) const { return entry_.shaped_for[i]; }
  const Shape& out(std::size_t i = 0) const { return entry_.top[i]->shape(); }
  i64 count_in() const { return count_of(in()); }
  /// An axis of the first bottom, counted from the front.
  i64 axis(int given) const;
  /// The values of the layer's blob `i`.
  std::vector<float> values(std::size_t i) const { return layer().blobs()[i]->data_vector(); }
  const Shape& shape(std::size_t i) const { return layer().blobs()[i]->shape(); }
  bool has_values(std::size_t i) const { return i < layer().blobs().size(); }

  /// The value that is bottom `i`.
  const std::string& bottom(std::size_t i = 0) const { return bottom_names[i]; }
  /// The value that becomes top `i`.
  const std::string& top(std::size_t i = 0) const { return top_names[i]; }
  std::vector<std::string> bottom_names, top_names;

  /// Adds a node. It has the layer's name, or a name with `output` where that is no top.
  NodeMaker node(const std::string& type, const std::vector<std::string>& inputs,
                 const std::vector<std::string>& outputs);
  NodeMaker node(const std::string& type, const std::vector<std::string>& inputs, const std::string& output) {
    return node(type, inputs, std::vector<std::string>{output});
  }
  /// Adds a node that makes a value within the layer, and returns the value's name.
  std::string inner(const std::string& type, const std::vector<std::string>& inputs);
  /// A name for a value within the layer.
  std::string inner_name();
  /// Adds constants and returns their names.
  std::string constant(const Shape& shape, const std::vector<float>& values);
  std::string constant(float value) { return constant({}, {value}); }
  std::string integers(const std::vector<i64>& values);
  /// The layer's blob `i`, in the shape given.
  std::string blob(std::size_t i, const Shape& shape) { return constant(shape, values(i)); }
  std::string blob(std::size_t i) { return blob(i, shape(i)); }

  /// `value`, of shape `from`, in another shape: itself where that is the same.
  std::string reshaped(const std::string& value, const Shape& from, const Shape& to);
  /// scale value + shift, without what changes nothing.
  std::string affine(std::string value, float scale, float shift);
  /// Top 0 is `value`, which is no top of a node yet.
  void alias(const std::string& value, std::size_t top = 0);

  /// Throws ConfigError naming the layer.
  [[noreturn]] void cannot(const std::string& what, const std::string& advice = "") const;

 private:
  const Net::Entry& entry_;
  onnx::GraphProto& graph_;
  std::map<std::string, std::string>& value_of_;  // by blob, so far
  int made_ = 0;
};

/// Says a layer of a type: adds its nodes, or throws ConfigError where ONNX cannot.
using Say = void (*)(LayerExport&);
using SayTable = std::map<std::string, Say>;

// Each adds the layers of its file.
void add_window_layers(SayTable& table);
void add_function_layers(SayTable& table);
void add_norm_layers(SayTable& table);
void add_shape_layers(SayTable& table);

}  // namespace cortado
