#include "app/measure/net_sets.h"

#include <set>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/formats/prototxt.h"

namespace cortado {
namespace {

std::string file_of(const std::string& set) {
  const std::string in_models = "models/" + set + "/train_val.prototxt";
  if (exists(in_models)) return in_models;
  if (exists(set)) return set;
  throw FileError("--set " + set, "is neither " + in_models + " nor a file",
                  "run in Cortado's folder, or give the path of a net");
}

template <class Shapes>
void set_batch(Shapes& shapes, i64 batch) {
  if (batch == 0) return;
  for (auto& shape : shapes) shape.set_dim(0, batch);
}

void prepare_data_layer(caffe::LayerParameter& layer, const std::string& file, i64 batch) {
  if (layer.type() == "Input") return set_batch(*layer.mutable_input_param()->mutable_shape(), batch);
  if (layer.type() != "DummyData")
    throw ConfigError(file, "layer '" + layer.name() + "' reads data (" + layer.type() + ")",
                      "give a net with a DummyData or Input layer");
  auto& dummy = *layer.mutable_dummy_data_param();
  set_batch(*dummy.mutable_shape(), batch);
  for (auto& filler : *dummy.mutable_data_filler())
    if (filler.type() != "constant") {
      filler.set_type("constant");
      filler.set_value(1);
    }
}

/// The work of a layer on its bottom, whatever its name.
std::string kind_of(const SetLayer& layer) {
  caffe::LayerParameter nameless = layer.parameter;
  nameless.clear_name();
  nameless.clear_bottom();
  nameless.clear_top();
  return to_string(layer.bottom) + nameless.SerializeAsString();
}
}  // namespace

void read_set(const std::string& set, i64 batch, caffe::NetParameter& net) {
  const std::string file = file_of(set);
  read_net(file, net);
  net.mutable_state()->set_phase(caffe::TRAIN);
  for (auto& layer : *net.mutable_layer())
    if (layer.bottom_size() == 0) prepare_data_layer(layer, file, batch);
}

void cut_behind_last(const std::string& type, const std::string& set, caffe::NetParameter& net) {
  auto& layers = *net.mutable_layer();
  int kept = layers.size();
  while (kept > 0 && layers.Get(kept - 1).type() != type) --kept;
  if (kept == 0) throw ConfigError("--set " + set, "has no layer of type " + type);
  layers.DeleteSubrange(kept, layers.size() - kept);
}

void start_with_zeros(caffe::NetParameter& net) {
  for (auto& layer : *net.mutable_layer()) {
    if (layer.has_convolution_param()) layer.mutable_convolution_param()->clear_weight_filler();
    if (layer.has_inner_product_param()) layer.mutable_inner_product_param()->clear_weight_filler();
  }
}

std::vector<SetLayer> layers_of(const NetOptions& options, const std::vector<std::string>& sets, i64 batch,
                                const std::string& type) {
  std::vector<SetLayer> list;
  std::set<std::string> seen;
  for (const auto& name : sets) {
    caffe::NetParameter parameter;
    read_set(name, batch, parameter);
    cut_behind_last(type, name, parameter);
    start_with_zeros(parameter);
    const Net net(parameter, options);
    for (const auto& entry : net.layers()) {
      if (entry.type != type) continue;
      SetLayer layer{name, entry.layer->name(), entry.bottom[0]->shape(), entry.layer->parameter()};
      if (seen.insert(kind_of(layer)).second) list.push_back(std::move(layer));
    }
  }
  return list;
}

}  // namespace cortado
