#include "app/onnx/train_on.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"

namespace cortado {
namespace {
/// The blob that nobody reads. Throws ConfigError if there is not one alone.
std::string end_of(const caffe::NetParameter& net) {
  std::set<std::string> unread;
  for (const auto& layer : net.layer()) {
    for (const auto& bottom : layer.bottom()) unread.erase(bottom);
    unread.insert(layer.top().begin(), layer.top().end());
  }
  if (unread.size() != 1)
    throw ConfigError("--train-on", "the net has " + std::to_string(unread.size()) + " outputs, and one can be learned",
                      "write the losses into the prototxt");
  return *unread.begin();
}

caffe::LayerParameter& add_score(const std::string& type, const std::string& name, const std::string& scores,
                                 caffe::NetParameter& net) {
  auto& layer = *net.add_layer();
  layer.set_name(name);
  layer.set_type(type);
  layer.add_bottom(scores);
  layer.add_bottom("label");
  layer.add_top(name);
  return layer;
}
}  // namespace

void train_on(const std::string& source, caffe::NetParameter& net) {
  const auto is_input = [](const caffe::LayerParameter& layer) { return layer.type() == "Input"; };
  if (std::count_if(net.layer().begin(), net.layer().end(), is_input) != 1)
    throw ConfigError("--train-on", "the net has several inputs", "write their data layers into the prototxt");
  const std::string end = end_of(net);
  auto& input = *std::find_if(net.mutable_layer()->begin(), net.mutable_layer()->end(), is_input);
  const auto batch = static_cast<std::uint32_t>(input.input_param().shape(0).dim(0));
  input.set_type("Data");
  input.clear_input_param();
  input.add_top("label");
  input.mutable_data_param()->set_source(source);
  input.mutable_data_param()->set_batch_size(batch);
  auto& last = *net.mutable_layer(net.layer_size() - 1);
  std::string scores = end;
  if (last.type() == "Softmax" && last.top(0) == end) {
    scores = last.bottom(0);
    net.mutable_layer()->RemoveLast();
  }
  add_score("SoftmaxWithLoss", "loss", scores, net);
  add_score("Accuracy", "accuracy", scores, net).add_include()->set_phase(caffe::TEST);
}

}  // namespace cortado
