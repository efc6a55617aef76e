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

struct Stride {
  std::uint32_t h = 0, w = 0;
  bool operator==(const Stride& other) const { return h == other.h && w == other.w; }
};
constexpr Stride every_pixel{1, 1};

/// The stride of a convolution whose outputs each are made of one pixel; `every_pixel` for other layers, too.
Stride stride_of(const caffe::LayerParameter& layer) {
  const auto& p = layer.convolution_param();
  const auto all = [](const auto& values, std::uint32_t wanted) {
    return std::all_of(values.begin(), values.end(), [&](std::uint32_t value) { return value == wanted; });
  };
  const bool of_sides = p.has_kernel_h() && p.has_kernel_w() && p.kernel_h() == 1 && p.kernel_w() == 1;
  const bool of_size = p.kernel_size_size() > 0 && all(p.kernel_size(), 1);
  const bool of_pixels = p.kernel_size_size() > 0 ? of_size && !p.has_kernel_h() && !p.has_kernel_w() : of_sides;
  const bool padded = !all(p.pad(), 0) || p.pad_h() > 0 || p.pad_w() > 0;
  if (layer.type() != "Convolution" || !of_pixels || padded || p.axis() != 1) return every_pixel;
  if (p.has_stride_h() && p.has_stride_w() && p.stride_size() == 0) return {p.stride_h(), p.stride_w()};
  if (p.has_stride_h() || p.has_stride_w() || p.stride_size() < 1 || p.stride_size() > 2) return every_pixel;
  return {p.stride(0), p.stride(p.stride_size() - 1)};
}

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

std::optional<caffe::LayerParameter> share_subsampling(caffe::NetParameter& net, int split) {
  caffe::LayerParameter& shared = *net.mutable_layer(split);
  if (shared.loss_weight_size() > 0) return {};
  const std::vector<int> readers = readers_of(net, split);
  const Stride stride = readers.empty() ? every_pixel : stride_of(net.layer(readers[0]));
  const bool agree =
      std::all_of(readers.begin(), readers.end(), [&](int i) { return stride_of(net.layer(i)) == stride; });
  if (!agree || stride == every_pixel || stride.h == 0 || stride.w == 0) return {};
  caffe::LayerParameter layer;
  layer.set_type("Pooling");
  layer.set_name(shared.bottom(0) + "_subsampled");
  layer.add_bottom(shared.bottom(0));
  layer.add_top(layer.name());
  auto& pooling = *layer.mutable_pooling_param();
  pooling.set_pool(caffe::PoolingParameter::AVE);
  pooling.set_round_mode(caffe::PoolingParameter::FLOOR);
  pooling.set_kernel_size(1);
  pooling.set_stride_h(stride.h);
  pooling.set_stride_w(stride.w);
  shared.set_bottom(0, layer.top(0));
  for (const int i : readers) {
    auto& convolution = *net.mutable_layer(i)->mutable_convolution_param();
    convolution.clear_stride();
    convolution.clear_stride_h();
    convolution.clear_stride_w();
  }
  return layer;
}

void passes::subsampling(NetGraph& graph) {
  const caffe::LayerParameter& split = graph.text.layer(graph.next);
  if (split.type() != "Split" || graph.blobs.at(split.bottom(0)).blob->axes() != 4) return;
  const auto layer = share_subsampling(graph.text, graph.next);
  if (!layer) return;
  const auto& pooling = layer->pooling_param();
  graph.did(layer->name() + " takes one of " + std::to_string(pooling.stride_h()) + " x " +
            std::to_string(pooling.stride_w()) + " pixels of " + layer->bottom(0) + " for " +
            std::to_string(split.top_size()) + " convolutions");
  graph.insert(*layer);
}

}  // namespace cortado
