#include "app/onnx/export.h"

#include <set>

#include "app/onnx/layer_export.h"
#include "core/base/mistakes.h"
#include "core/formats/prototxt.h"

namespace cortado {
namespace {
constexpr i64 opset = 13, ir_version = 7;  // the first version of the format that goes with this opset

const SayTable& say_table() {
  static const SayTable table = [] {
    SayTable all;
    add_window_layers(all);
    add_function_layers(all);
    add_norm_layers(all);
    add_shape_layers(all);
    return all;
  }();
  return table;
}

void describe(const std::string& name, const Shape& shape, onnx::ValueInfoProto& value) {
  value.set_name(name);
  auto& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  type.mutable_shape();  // there even if it has no dimensions
  for (const i64 d : shape) type.mutable_shape()->add_dim()->set_dim_value(d);
}

/// Turns a net's layers, in order, into nodes. ONNX's values are written once, blobs may be written again in place.
class Exporter {
 public:
  explicit Exporter(const Net& net) : net_(net) {
    for (std::size_t i = 0; i < net.layers().size(); ++i)
      for (const auto& top : net.layers()[i].top_names) last_writer_[top] = i;
  }

  onnx::ModelProto model(const std::vector<std::string>& wanted) {
    onnx::ModelProto model;
    model.set_ir_version(ir_version);
    model.set_producer_name("cortado");
    model.add_opset_import()->set_version(opset);
    model.mutable_opset_import(0)->set_domain("");
    graph_ = model.mutable_graph();
    graph_->set_name(net_.name().empty() ? "net" : net_.name());
    for (std::size_t i = 0; i < net_.layers().size(); ++i) add(i);
    if (!mistakes_.empty()) throw Mistakes(mistakes_);
    for (const auto& output : net_.outputs()) add_output(output.name);
    for (const auto& blob : wanted)
      if (is_output_.count(blob) == 0) add_output(blob);
    add_transforms(model);
    return model;
  }

 private:
  void add(std::size_t i) {
    const Net::Entry& entry = net_.layers()[i];
    LayerExport layer(entry, *graph_, value_of_);
    for (const auto& bottom : entry.bottom_names) layer.bottom_names.push_back(value_of_[bottom]);
    for (const auto& top : entry.top_names) {
      layer.top_names.push_back(last_writer_[top] == i ? top : top + "/" + entry.layer->name());
      value_of_[top] = layer.top_names.back();
    }
    const auto say = say_table().find(entry.type);
    try {
      if (entry.type == "Input")
        for (std::size_t t = 0; t < entry.top.size(); ++t)
          describe(layer.top_names[t], entry.top[t]->shape(), *graph_->add_input());
      else if (say == say_table().end())
        layer.cannot("ONNX has no such operation", "end the net before it: cortado deploy --outputs");
      else
        say->second(layer);
    } catch (const ConfigError& error) { mistakes_.emplace_back(error.what()); }
  }

  void add_output(const std::string& blob) {
    is_output_.insert(blob);
    const std::string& value = value_of_[blob];
    if (value != blob) {  // a layer passed on what it got
      auto& node = *graph_->add_node();
      node.set_op_type("Identity");
      node.set_name(blob);
      node.add_input(value);
      node.add_output(blob);
    }
    describe(blob, net_.blob(blob)->shape(), *graph_->add_output());
  }

  /// Notes what is done to pixels before the net gets them.
  void add_transforms(onnx::ModelProto& model) const {
    for (const auto& entry : net_.layers()) {
      const caffe::LayerParameter& text = entry.layer->parameter();
      if (!text.has_transform_param() || entry.top_names.empty()) continue;
      auto& note = *model.add_metadata_props();
      note.set_key("transform_param of " + entry.top_names[0]);
      note.set_value(text.transform_param().ShortDebugString());
    }
  }

  const Net& net_;
  std::map<std::string, std::size_t> last_writer_;
  std::map<std::string, std::string> value_of_;
  std::set<std::string> is_output_;
  std::vector<std::string> mistakes_;
  onnx::GraphProto* graph_ = nullptr;
};
}  // namespace

onnx::ModelProto to_onnx(const Net& net, const std::vector<std::string>& wanted) { return Exporter(net).model(wanted); }

void write_onnx(const Net& net, const std::string& file, const std::vector<std::string>& wanted) {
  write_binary(file, to_onnx(net, wanted));
}

}  // namespace cortado
