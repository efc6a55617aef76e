#include <algorithm>
#include <vector>

#include "core/net/passes/net_text.h"
#include "core/net/passes/passes.h"

// Where all readers of a blob are convolutions of single pixels with the same stride, the pixels that they read are
// taken once. Between the stages of residual nets two convolutions would otherwise each gather every fourth pixel, and
// each fill three quarters of a gradient with zeros, to be added. What it makes is a net of Caffe's, too: an average
// over windows of one pixel.
//
//            +--> conv 1x1, stride 2                                +--> conv 1x1
//   x --Split|                          ==>   x --Pooling 1x1, --Split|
//            +--> conv 1x1, stride 2              stride 2          +--> conv 1x1
namespace cortado {
namespace {

/// Positions of the layers that read the tops of a split: each has one reader.
std::vector<int> readers_of(const caffe::NetParameter& net, int split) {
  std::vector<int> readers;
  const auto& tops = net.layer(split).top();
  for (int i = split + 1; i < net.layer_size(); ++i)
    for (const auto& bottom : net.layer(i).bottom())
      if (std::find(tops.begin(), tops.end(), bottom) != tops.end()) readers.push_back(i);
  return readers;
}

}  // namespace

std::optional<caffe::LayerParameter> share_subsampling(caffe::NetParameter& net, int split, const LayerTable& layers) {
  caffe::LayerParameter& shared = *net.mutable_layer(split);
  if (shared.loss_weight_size() > 0) return {};
  const std::vector<int> readers = readers_of(net, split);
  const PixelStride stride = readers.empty() ? every_pixel : layers.pixel_stride(net.layer(readers[0]));
  const bool agree =
      std::all_of(readers.begin(), readers.end(), [&](int i) { return layers.pixel_stride(net.layer(i)) == stride; });
  if (!agree || stride == every_pixel || stride.h == 0 || stride.w == 0) return {};
  caffe::LayerParameter layer;
  layer.set_type(layers.type_of(Role::subsampling));
  layer.set_name(shared.bottom(0) + "_subsampled");
  layer.add_bottom(shared.bottom(0));
  layer.add_top(layer.name());
  layers.set_pixel_stride(layer, stride);
  shared.set_bottom(0, layer.top(0));
  for (const int i : readers) layers.set_pixel_stride(*net.mutable_layer(i), every_pixel);
  return layer;
}

void passes::subsampling(NetGraph& graph) {
  const LayerTable& layers = *graph.options.layers;
  const caffe::LayerParameter& split = graph.text.layer(graph.next);
  if (!layers.plays(split, Role::split) || graph.blobs.at(split.bottom(0)).blob->axes() != 4) return;
  const auto layer = share_subsampling(graph.text, graph.next, layers);
  if (!layer) return;
  const PixelStride stride = layers.pixel_stride(*layer);
  graph.did(layer->name() + " takes one of " + std::to_string(stride.h) + " x " + std::to_string(stride.w) +
            " pixels of " + layer->bottom(0) + " for " + std::to_string(split.top_size()) + " convolutions");
  graph.insert(*layer);
}

}  // namespace cortado
