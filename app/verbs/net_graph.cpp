#include "app/verbs/net_graph.h"

#include <google/protobuf/text_format.h>

#include <map>
#include <sstream>
#include <vector>

#include "core/base/printable.h"

namespace cortado {
namespace {
namespace pb = google::protobuf;
constexpr std::size_t most_lines = 8;  // of a layer's parameters

/// The text as the inside of a Graphviz text.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::vector<const pb::FieldDescriptor*> fields_of(const pb::Message& message) {
  std::vector<const pb::FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  return fields;
}

bool is_message(const pb::FieldDescriptor& field) { return field.cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE; }

/// "kernel_size: 5": all values of a field.
std::string line_of(const pb::Message& message, const pb::FieldDescriptor& field) {
  std::string line = field.name() + ":";
  const int count = field.is_repeated() ? message.GetReflection()->FieldSize(message, &field) : 1;
  for (int i = 0; i < count; ++i) {
    std::string value;
    pb::TextFormat::PrintFieldValueToString(message, &field, field.is_repeated() ? i : -1, &value);
    line += " " + value;
  }
  return line;
}

/// The layer's own parameters, a line each; without fillers and what else is a message.
std::vector<std::string> parameters_of(const caffe::LayerParameter& layer) {
  std::vector<std::string> lines;
  for (const auto* group : fields_of(layer)) {
    const std::string& name = group->name();
    const bool own = is_message(*group) && !group->is_repeated() && name.size() > 6 &&
                     name.compare(name.size() - 6, 6, "_param") == 0;
    if (!own) continue;
    const pb::Message& parameter = layer.GetReflection()->GetMessage(layer, group);
    for (const auto* field : fields_of(parameter))
      if (!is_message(*field) && lines.size() < most_lines) lines.push_back(line_of(parameter, *field));
  }
  return lines;
}

std::string label_of(const caffe::LayerParameter& layer) {
  std::string label = escaped(layer.name()) + "\\n" + escaped(layer.type());
  for (const auto& line : parameters_of(layer)) label += "\\n" + escaped(line);
  return label;
}

const char* colour_of(const caffe::LayerParameter& layer) {
  static const std::map<std::string, const char*> colours = {
      {"Convolution", "#f4b6a6"}, {"Deconvolution", "#f4b6a6"}, {"InnerProduct", "#c9b5e3"},
      {"Pooling", "#f8d79b"},     {"BatchNorm", "#bfe3c0"},     {"Scale", "#bfe3c0"},
      {"LRN", "#bfe3c0"},         {"ReLU", "#d9ead3"},          {"Dropout", "#d9ead3"}};
  const auto found = colours.find(layer.type());
  if (found != colours.end()) return found->second;
  return layer.bottom_size() == 0 ? "#cccccc" : "#a9cbe8";
}

/// Writes nodes and edges, and knows the node that stands for each blob at this point of the net.
class Graph {
 public:
  explicit Graph(const std::function<std::string(const std::string&)>& shape_of) : shape_of_(shape_of) {}

  void add(const caffe::LayerParameter& layer) {
    const std::string box = "layer" + std::to_string(layers_++);
    std::vector<std::string> from;
    for (const auto& bottom : layer.bottom()) from.push_back(nodes_.count(bottom) > 0 ? nodes_[bottom] : blob(bottom));
    text_ << "  " << box << " [shape=box, style=filled, fillcolor=\"" << colour_of(layer) << "\", label=\""
          << label_of(layer) << "\"];\n";
    for (const auto& node : from) text_ << "  " << node << " -> " << box << ";\n";
    for (const auto& top : layer.top()) {
      const std::string node = blob(top);  // before the line that names it
      text_ << "  " << box << " -> " << node << ";\n";
    }
  }
  std::string text() const { return text_.str(); }

 private:
  /// A new node of the blob.
  std::string blob(const std::string& name) {
    const std::string node = "blob" + std::to_string(blobs_++), shape = shape_of_(name);
    text_ << "  " << node << " [shape=ellipse, label=\"" << escaped(name) << (shape.empty() ? "" : "\\n" + shape)
          << "\"];\n";
    return nodes_[name] = node;
  }

  const std::function<std::string(const std::string&)>& shape_of_;
  std::ostringstream text_;
  std::map<std::string, std::string> nodes_;
  int layers_ = 0, blobs_ = 0;
};

}  // namespace

std::string net_graph(const caffe::NetParameter& net, bool left_to_right,
                      const std::function<std::string(const std::string&)>& shape_of) {
  Graph graph(shape_of);
  for (const auto& layer : net.layer()) graph.add(layer);
  return "digraph \"" + escaped(net.name()) + "\" {\n  rankdir=" + (left_to_right ? "LR" : "TB") +
         ";\n  node [fontname=\"Helvetica\"];\n" + graph.text() + "}\n";
}

}  // namespace cortado
