#include <algorithm>

#include "app/onnx/layer_export.h"
#include "layers/convolution/window.h"

// Layers that slide a window over an image.
namespace cortado {
namespace {
std::vector<i64> twice(const std::vector<i64>& pad) {
  std::vector<i64> both = pad;
  both.insert(both.end(), pad.begin(), pad.end());
  return both;
}

void say_convolution(LayerExport& layer, const char* type) {
  const auto& p = layer.text().convolution_param();
  if (layer.axis(p.axis()) != 1) layer.cannot("its channels are not axis 1", "reshape its bottom");
  const auto axes = static_cast<int>(layer.in().size()) - 2;
  if (axes < 1) layer.cannot("it has no spatial axes", "use InnerProduct");
  if (layer.bottoms() != 1) layer.cannot("it has several bottoms", "write a layer for each");
  const SlidingWindow window = read_window(layer.layer(), p, axes);
  std::vector<std::string> inputs = {layer.bottom(), layer.blob(0)};
  if (layer.has_values(1)) inputs.push_back(layer.blob(1));
  const bool by_channel = layer.text().type() != "Convolution" && layer.text().type() != "Deconvolution";
  layer.node(type, inputs, layer.top())
      .set("kernel_shape", window.kernel)
      .set("strides", window.stride)
      .set("pads", twice(window.pad))
      .set("dilations", window.dilation)
      .set("group", by_channel ? layer.in()[1] : i64{p.group()});
}

void say_convolution(LayerExport& layer) { say_convolution(layer, "Conv"); }
void say_deconvolution(LayerExport& layer) { say_convolution(layer, "ConvTranspose"); }

/// One axis of a pooling window, with the padding that it has in fact: Caffe rounds the number of windows up, and cuts
/// windows off at the end of the padding.
struct PoolAxis {
  i64 kernel, stride, pad, end_pad;
  PoolAxis(i64 in, i64 out, i64 its_kernel, i64 its_stride, i64 its_pad)
      : kernel(its_kernel),
        stride(its_stride),
        pad(its_pad),
        end_pad(std::max<i64>(0, (out - 1) * stride + kernel - in - pad)) {}
};

void set_window(NodeMaker& node, const PoolAxis& h, const PoolAxis& w) {
  node.set("kernel_shape", std::vector<i64>{h.kernel, w.kernel})
      .set("strides", std::vector<i64>{h.stride, w.stride})
      .set("pads", std::vector<i64>{h.pad, w.pad, h.end_pad, w.end_pad});
}

/// The mean over windows. Caffe counts values of the padding, but not what is beyond it.
void say_average(LayerExport& layer, PoolAxis h, PoolAxis w) {
  std::string value = layer.bottom();
  const bool is_padded = h.pad > 0 || w.pad > 0, ends_within = h.end_pad <= h.pad && w.end_pad <= w.pad;
  if (is_padded && !ends_within) {
    const std::vector<i64> pads = {0, 0, h.pad, w.pad, 0, 0, h.pad, w.pad};
    value = layer.inner("Pad", {value, layer.integers(pads)});
    for (PoolAxis* axis : {&h, &w}) axis->end_pad = std::max<i64>(0, axis->end_pad - axis->pad), axis->pad = 0;
  }
  NodeMaker node = layer.node("AveragePool", {value}, layer.top());
  set_window(node, h, w);
  node.set("count_include_pad", i64{is_padded && ends_within ? 1 : 0});
}

void say_pooling(LayerExport& layer) {
  const auto& p = layer.text().pooling_param();
  if (p.pool() == caffe::PoolingParameter::STOCHASTIC) layer.cannot("ONNX has no stochastic pooling");
  if (layer.tops() > 1) layer.cannot("its second top, the mask, has no counterpart: ONNX counts places over the batch");
  const bool largest = p.pool() == caffe::PoolingParameter::MAX;
  if (p.global_pooling()) {
    layer.node(largest ? "GlobalMaxPool" : "GlobalAveragePool", {layer.bottom()}, layer.top());
    return;
  }
  const auto side = [](bool has, i64 own, i64 common) { return has ? own : common; };
  const PoolAxis h(layer.in()[2], layer.out()[2], side(p.has_kernel_h(), p.kernel_h(), p.kernel_size()),
                   side(p.has_stride_h(), p.stride_h(), p.stride()), side(p.has_pad_h(), p.pad_h(), p.pad()));
  const PoolAxis w(layer.in()[3], layer.out()[3], side(p.has_kernel_w(), p.kernel_w(), p.kernel_size()),
                   side(p.has_stride_w(), p.stride_w(), p.stride()), side(p.has_pad_w(), p.pad_w(), p.pad()));
  if (h.end_pad >= h.kernel || w.end_pad >= w.kernel)
    layer.cannot("its last window lies outside of the image", "use a smaller stride, or round_mode: FLOOR");
  if (!largest) return say_average(layer, h, w);
  NodeMaker node = layer.node("MaxPool", {layer.bottom()}, layer.top());
  set_window(node, h, w);
}

void say_spp(LayerExport& layer) {
  const auto& p = layer.text().spp_param();
  if (p.pool() == caffe::SPPParameter::STOCHASTIC) layer.cannot("ONNX has no stochastic pooling");
  if (p.pyramid_height() == 1) {
    layer.node(p.pool() == caffe::SPPParameter::MAX ? "GlobalMaxPool" : "GlobalAveragePool", {layer.bottom()},
               layer.top());
    return;
  }
  layer.cannot("a pyramid of several levels has no counterpart", "write its levels as Pooling, Flatten and Concat");
}

/// Bilinear, corners upon corners, after rows and columns at the borders are cut off.
void say_interp(LayerExport& layer) {
  const auto& p = layer.text().interp_param();
  std::string value = layer.bottom();
  if (p.pad_beg() < 0 || p.pad_end() < 0) {
    const i64 begin = -i64{p.pad_beg()}, end = p.pad_end();
    value = layer.inner("Slice", {value, layer.integers({begin, begin}),
                                  layer.integers({layer.in()[2] + end, layer.in()[3] + end}), layer.integers({2, 3})});
  }
  layer.node("Resize", {value, "", "", layer.integers(layer.out())}, layer.top())
      .set("mode", std::string("linear"))
      .set("coordinate_transformation_mode", std::string("align_corners"));
}

void say_upsample(LayerExport& layer) {
  if (layer.bottoms() > 1) layer.cannot("its mask has no counterpart: ONNX counts places over the batch");
  const auto times = [&](std::size_t d) {
    return static_cast<float>(layer.out()[d]) / static_cast<float>(layer.in()[d]);
  };
  layer.node("Resize", {layer.bottom(), "", layer.constant({4}, {1, 1, times(2), times(3)})}, layer.top())
      .set("mode", std::string("nearest"))
      .set("coordinate_transformation_mode", std::string("asymmetric"))
      .set("nearest_mode", std::string("floor"));
}

/// Across channels ONNX has it. Within a channel it is made of a mean over a padded window.
void say_lrn(LayerExport& layer) {
  const auto& p = layer.text().lrn_param();
  const auto size = static_cast<i64>(p.local_size());
  if (p.norm_region() == caffe::LRNParameter::ACROSS_CHANNELS) {
    layer.node("LRN", {layer.bottom()}, layer.top())
        .set("size", size)
        .set("alpha", p.alpha())
        .set("beta", p.beta())
        .set("bias", p.k());
    return;
  }
  const std::string squares = layer.inner("Mul", {layer.bottom(), layer.bottom()}), means = layer.inner_name();
  const i64 reach = (size - 1) / 2;
  layer.node("AveragePool", {squares}, means)
      .set("kernel_shape", std::vector<i64>{size, size})
      .set("pads", std::vector<i64>(4, reach))
      .set("count_include_pad", i64{1});
  const std::string sum = layer.affine(means, p.alpha(), 1);
  layer.node("Mul", {layer.bottom(), layer.inner("Pow", {sum, layer.constant(-p.beta())})}, layer.top());
}
}  // namespace

void add_window_layers(SayTable& table) {
  table["Convolution"] = table["DepthwiseConvolution"] = table["ConvolutionDepthwise"] = say_convolution;
  table["Deconvolution"] = say_deconvolution;
  table["Pooling"] = say_pooling;
  table["SPP"] = say_spp;
  table["Interp"] = say_interp;
  table["Upsample"] = say_upsample;
  table["LRN"] = say_lrn;
}

}  // namespace cortado
