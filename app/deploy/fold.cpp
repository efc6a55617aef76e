#include "app/deploy/fold.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/formats/blob_proto.h"

namespace cortado {
namespace {
using Values = std::vector<double>;

/// y = scale x + bias, a value for each channel (axis 1).
struct ChannelMap {
  Values scale, bias;
};

Values values(const caffe::LayerParameter& layer, int blob) {
  const auto floats = values_of(layer.blobs(blob), "layer '" + layer.name() + "'");
  return {floats.begin(), floats.end()};
}

void set_values(const Shape& shape, const Values& values, caffe::BlobProto& blob) {
  to_proto(shape, std::vector<float>(values.begin(), values.end()), {}, blob);
}

bool shares(const caffe::LayerParameter& layer) {
  return std::any_of(layer.param().begin(), layer.param().end(),
                     [](const caffe::ParamSpec& spec) { return !spec.name().empty(); });
}

/// The map of a Scale or Bias; nothing if it is not by channel, learned, or is shared.
std::optional<ChannelMap> map_of(const caffe::LayerParameter& layer) {
  if (layer.bottom_size() != 1 || layer.top_size() != 1 || layer.blobs_size() == 0 || shares(layer)) return {};
  if (layer.blobs(0).shape().dim_size() != 1) return {};
  const auto by_channel = [](const auto& p) { return p.axis() == 1 && p.num_axes() == 1; };
  if (layer.type() == "Bias" && by_channel(layer.bias_param())) {
    Values bias = values(layer, 0);
    return ChannelMap{Values(bias.size(), 1), bias};
  }
  if (layer.type() != "Scale" || !by_channel(layer.scale_param())) return {};
  Values scale = values(layer, 0);
  return ChannelMap{scale, layer.blobs_size() > 1 ? values(layer, 1) : Values(scale.size(), 0)};
}

void make_scale(const ChannelMap& map, caffe::LayerParameter& layer) {
  layer.clear_batch_norm_param();
  layer.clear_bias_param();
  layer.clear_param();
  layer.set_type("Scale");
  layer.mutable_scale_param()->set_bias_term(true);
  layer.clear_blobs();
  const Shape shape{static_cast<i64>(map.scale.size())};
  set_values(shape, map.scale, *layer.add_blobs());
  set_values(shape, map.bias, *layer.add_blobs());
}

/// BatchNorm as it scores: (x - mean / factor) / sqrt(variance / factor + eps).
void settle_batch_norm(caffe::LayerParameter& layer) {
  const auto& p = layer.batch_norm_param();
  const bool takes_batch = p.has_use_global_stats() && !p.use_global_stats();
  if (layer.type() != "BatchNorm" || takes_batch || layer.blobs_size() != 3 || shares(layer)) return;
  const Values mean = values(layer, 0), variance = values(layer, 1), factor = values(layer, 2);
  const double share = factor[0] == 0 ? 0 : 1 / factor[0];
  ChannelMap map;
  for (std::size_t c = 0; c < mean.size(); ++c) {
    map.scale.push_back(1 / std::sqrt(variance[c] * share + double{p.eps()}));
    map.bias.push_back(-mean[c] * share * map.scale[c]);
  }
  make_scale(map, layer);
}

/// Multiplies the weights of output channel c, whose place in `weights` (outer x channels x inner) is c, by scale[c].
void multiply(const Values& scale, std::size_t outer, Values& weights) {
  const std::size_t inner = weights.size() / (outer * scale.size());
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] *= scale[i / inner % scale.size()];
}

/// The layer's weights, multiplied by the map's scale; nothing if its outputs are not channels.
std::optional<Values> scaled_weights(const caffe::LayerParameter& layer, const ChannelMap& map) {
  const std::size_t channels = map.scale.size();
  Values weights = values(layer, 0);
  const auto& shape = layer.blobs(0).shape();
  if (layer.type() == "Deconvolution") {  // inputs x outputs of a group x window
    const auto group = std::size_t{layer.convolution_param().group()};
    if (layer.convolution_param().axis() != 1 || layer.convolution_param().num_output() != channels) return {};
    const std::size_t of_group = channels / group, inputs = static_cast<std::size_t>(shape.dim(0)),
                      window = weights.size() / (inputs * of_group);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::size_t input = i / (of_group * window), output = i / window % of_group;
      weights[i] *= map.scale[input / (inputs / group) * of_group + output];
    }
    return weights;
  }
  const bool turned = layer.type() == "InnerProduct" && layer.inner_product_param().transpose();
  const bool in_place =
      layer.type() == "InnerProduct" ? layer.inner_product_param().axis() == 1 : layer.convolution_param().axis() == 1;
  const int axis = turned ? 1 : 0;
  if (!in_place || shape.dim_size() <= axis || shape.dim(axis) != static_cast<i64>(channels)) return {};
  multiply(map.scale, turned ? static_cast<std::size_t>(shape.dim(0)) : 1, weights);
  return weights;
}

void set_bias(caffe::LayerParameter& layer, const ChannelMap& map) {
  const bool had = layer.blobs_size() > 1;
  const Values before = had ? values(layer, 1) : Values(map.bias.size(), 0);
  Values bias = map.bias;
  for (std::size_t c = 0; c < bias.size(); ++c) bias[c] += map.scale[c] * before[c];
  set_values({static_cast<i64>(bias.size())}, bias, had ? *layer.mutable_blobs(1) : *layer.add_blobs());
  if (layer.type() == "InnerProduct")
    layer.mutable_inner_product_param()->clear_bias_term();  // true by default
  else
    layer.mutable_convolution_param()->clear_bias_term();
}

/// Lets `maker` apply the map. Returns false, and has changed nothing, where it cannot.
bool take_over(const ChannelMap& map, caffe::LayerParameter& maker) {
  if (maker.top_size() != 1 || maker.blobs_size() == 0 || shares(maker)) return false;
  const auto own = map_of(maker);
  if (own && own->scale.size() == map.scale.size()) {
    ChannelMap both = map;
    for (std::size_t c = 0; c < both.scale.size(); ++c) {
      both.scale[c] *= own->scale[c];
      both.bias[c] += map.scale[c] * own->bias[c];
    }
    make_scale(both, maker);
    return true;
  }
  const bool multiplies = maker.type() == "Convolution" || maker.type() == "Deconvolution" ||
                          maker.type() == "InnerProduct" || maker.type() == "DepthwiseConvolution" ||
                          maker.type() == "ConvolutionDepthwise";
  const auto weights = multiplies ? scaled_weights(maker, map) : std::nullopt;
  if (!weights) return false;
  set_values(shape_of(maker.blobs(0)), *weights, *maker.mutable_blobs(0));
  set_bias(maker, map);
  return true;
}

bool reads(const caffe::LayerParameter& layer, const std::string& blob) {
  return std::count(layer.bottom().begin(), layer.bottom().end(), blob) > 0;
}
bool writes(const caffe::LayerParameter& layer, const std::string& blob) {
  return std::count(layer.top().begin(), layer.top().end(), blob) > 0;
}

/// The layer that makes the bottom of layer `reader`, if nobody else reads it; -1: there is none.
int only_maker(const caffe::NetParameter& net, int reader) {
  const std::string& blob = net.layer(reader).bottom(0);
  int maker = reader - 1;
  for (; maker >= 0 && !writes(net.layer(maker), blob); --maker)
    if (reads(net.layer(maker), blob)) return -1;
  if (writes(net.layer(reader), blob)) return maker;
  for (int i = reader + 1; i < net.layer_size(); ++i)
    if (reads(net.layer(i), blob)) return -1;
  return maker;
}
}  // namespace

int fold_maps(caffe::NetParameter& net) {
  const int before = net.layer_size();
  for (auto& layer : *net.mutable_layer()) settle_batch_norm(layer);
  for (int i = 0; i < net.layer_size();) {
    const auto map = map_of(net.layer(i));
    const int maker = map ? only_maker(net, i) : -1;
    if (maker < 0 || !take_over(*map, *net.mutable_layer(maker))) {
      ++i;
      continue;
    }
    net.mutable_layer(maker)->set_top(0, net.layer(i).top(0));
    net.mutable_layer()->DeleteSubrange(i, 1);
  }
  return before - net.layer_size();
}

}  // namespace cortado
