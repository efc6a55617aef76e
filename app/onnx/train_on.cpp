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
/// A Data layer for tests behind the one that is there, which trains alone.
void add_tests(const std::string& source, caffe::NetParameter& net) {
  const auto is_data = [](const caffe::LayerParameter& layer) { return layer.type() == "Data"; };
  const auto at = std::find_if(net.mutable_layer()->begin(), net.mutable_layer()->end(), is_data);
  const int index = static_cast<int>(at - net.mutable_layer()->begin());
  caffe::LayerParameter testing = *at;
  testing.set_name(testing.name() + "_test");
  testing.mutable_data_param()->set_source(source);
  testing.add_include()->set_phase(caffe::TEST);
  at->add_include()->set_phase(caffe::TRAIN);
  *net.add_layer() = testing;
  for (int i = net.layer_size() - 1; i > index + 1; --i) net.mutable_layer()->SwapElements(i, i - 1);
}

/// Throws ConfigError, which names the flag, if there is not one alone.
caffe::LayerParameter& input_of(caffe::NetParameter& net, const char* flag) {
  const auto is_input = [](const caffe::LayerParameter& layer) { return layer.type() == "Input"; };
  if (std::count_if(net.layer().begin(), net.layer().end(), is_input) != 1)
    throw ConfigError(flag, "the net has several inputs", "write their layers into the prototxt");
  return *std::find_if(net.mutable_layer()->begin(), net.mutable_layer()->end(), is_input);
}

/// The one layer that reads the blob, which must be a convolution of all `channels`.
caffe::LayerParameter& first_convolution(caffe::NetParameter& net, const std::string& blob, i64 channels) {
  caffe::LayerParameter* found = nullptr;
  for (auto& layer : *net.mutable_layer()) {
    if (std::find(layer.bottom().begin(), layer.bottom().end(), blob) == layer.bottom().end()) continue;
    const bool fits = layer.type() == "Convolution" && layer.blobs_size() > 0 &&
                      layer.blobs(0).shape().dim_size() > 2 && layer.blobs(0).shape().dim(1) == channels;
    if (found != nullptr || !fits)
      throw ConfigError("layer '" + layer.name() + "' (" + layer.type() + ")",
                        "reads the pixels, and --mean and --std go into one convolution of all channels",
                        "leave the flags away, and prepare the data as the model wants them");
    found = &layer;
  }
  if (found == nullptr) throw ConfigError("--mean", "no layer reads '" + blob + "'");
  return *found;
}
}  // namespace

void take_bytes(const Normalisation& from, caffe::NetParameter& text, caffe::NetParameter& weights) {
  auto& input = input_of(text, "--mean");
  const auto& shape = input.input_param().shape(0);
  const i64 channels = shape.dim_size() == 4 ? shape.dim(1) : 0;
  const auto count = static_cast<i64>(from.mean.size());
  if (count != channels || from.deviation.size() != from.mean.size())
    throw ConfigError("--mean and --std",
                      "give " + std::to_string(count) + " and " + std::to_string(from.deviation.size()) +
                          " values, and the input has " + std::to_string(channels) + " channels",
                      "give one for each channel");
  auto& convolution = first_convolution(weights, input.top(0), channels);
  auto& transform = *input.mutable_transform_param();
  transform.set_scale(1.0F / 255);
  for (i64 c = channels; c-- > 0;) transform.add_mean_value(255 * from.mean[static_cast<std::size_t>(c)]);
  auto& values = *convolution.mutable_blobs(0)->mutable_data();
  const i64 rows = convolution.blobs(0).shape().dim(0) * channels, area = values.size() / rows;
  const std::vector<float> given(values.begin(), values.end());
  for (i64 row = 0; row < rows; ++row) {
    const i64 c = row % channels, other = channels - 1 - c;  // which takes this one's place
    for (i64 i = 0; i < area; ++i)
      values[static_cast<int>((row - c + other) * area + i)] =
          given[static_cast<std::size_t>(row * area + i)] / from.deviation[static_cast<std::size_t>(c)];
  }
}

void train_on(const std::string& source, const std::string& tests, caffe::NetParameter& net) {
  const std::string end = end_of(net);
  auto& input = input_of(net, "--train-on");
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
  if (!tests.empty()) add_tests(tests, net);
  add_score("SoftmaxWithLoss", "loss", scores, net);
  add_score("Accuracy", "accuracy", scores, net).add_include()->set_phase(caffe::TEST);
}

}  // namespace cortado
