#include <algorithm>

#include "app/onnx/node_import.h"

// Operations that slide a window over an image.
namespace cortado {
namespace {
using Sizes = std::vector<i64>;

/// The window of an operation on each spatial axis.
struct Window {
  Sizes kernel, stride, dilation, begin, end;
  bool pads_with_zeros = false;  ///< zeros came from a Pad in front

  std::size_t axes() const { return kernel.size(); }
  i64 extent(std::size_t d) const { return dilation[d] * (kernel[d] - 1) + 1; }
  /// What is left of `size` values and the padding beyond the first window.
  i64 room(std::size_t d, i64 size) const { return size + begin[d] + end[d] - extent(d); }
  bool is_padded() const {
    return std::any_of(begin.begin(), begin.end(), [](i64 p) { return p > 0; }) ||
           std::any_of(end.begin(), end.end(), [](i64 p) { return p > 0; });
  }
};

void pad_to_same(const NodeImport& node, Window& window, bool more_at_end) {
  for (std::size_t d = 0; d < window.axes(); ++d) {
    const i64 size = node.shape()[d + 2], out = (size + window.stride[d] - 1) / window.stride[d];
    const i64 pad = std::max<i64>(0, (out - 1) * window.stride[d] + window.extent(d) - size);
    window.begin[d] = more_at_end ? pad / 2 : pad - pad / 2;
    window.end[d] = pad - window.begin[d];
  }
}

Window read_window(const NodeImport& node, const Sizes& kernel) {
  const std::size_t axes = kernel.size();
  if (node.rank() != static_cast<i64>(axes) + 2 || axes == 0)
    node.cannot("its input of " + std::to_string(node.rank()) + " axes and its kernel do not fit together");
  Window window{kernel, node.integers("strides", Sizes(axes, 1)), node.integers("dilations", Sizes(axes, 1)), {}, {}};
  Sizes pads = node.integers("pads", Sizes(2 * axes, 0));
  const auto is_positive = [](i64 size) { return size > 0 && size < 1 << 20; };
  const auto all_positive = [&](const Sizes& sizes) {
    return sizes.size() == axes && std::all_of(sizes.begin(), sizes.end(), is_positive);
  };
  const bool fits =
      pads.size() == 2 * axes && std::all_of(pads.begin(), pads.end(), [](i64 p) { return p >= 0 && p < 1 << 20; });
  if (!all_positive(window.kernel) || !all_positive(window.stride) || !all_positive(window.dilation) || !fits)
    node.cannot("its kernel, strides, dilations and pads do not fit together");
  window.begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(axes));
  window.end.assign(pads.begin() + static_cast<std::ptrdiff_t>(axes), pads.end());
  const std::string automatic = node.word("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") pad_to_same(node, window, automatic == "SAME_UPPER");
  const Sizes& more = node.in().pads;
  if (more.empty()) return window;
  window.pads_with_zeros = true;
  for (std::size_t d = 0; d < axes; ++d) {
    window.begin[d] += more[d + 2];
    window.end[d] += more[d + axes + 4];
  }
  return window;
}

/// Fields that stand once for all axes where they are alike.
template <class Field>
void set(const Sizes& values, i64 otherwise, Field& field) {
  if (std::all_of(values.begin(), values.end(), [&](i64 v) { return v == otherwise; })) return;
  const bool alike = std::all_of(values.begin(), values.end(), [&](i64 v) { return v == values[0]; });
  for (std::size_t d = 0; d < (alike ? 1 : values.size()); ++d) field.Add(static_cast<std::uint32_t>(values[d]));
}

void set_filler(caffe::ConvolutionParameter& p) { p.mutable_weight_filler()->set_type("msra"); }

/// The padding at the begin may stand for that at the end too if no window more fits then.
void require_even_pads(const NodeImport& node, const Window& window) {
  for (std::size_t d = 0; d < window.axes(); ++d) {
    const i64 size = node.shape()[d + 2], stride = window.stride[d];
    const i64 room = window.room(d, size), even = room - window.end[d] + window.begin[d];
    if (room < 0) node.cannot("its kernel does not fit the image");
    if (even < 0 || even / stride != room / stride)
      node.cannot("it pads " + std::to_string(window.begin[d]) + " values in front and " +
                      std::to_string(window.end[d]) + " behind",
                  "pad both sides alike");
  }
}

Window read_convolution(const NodeImport& node) {
  const Shape& weights = node.shape(1);
  if (weights.size() < 3 || *std::min_element(weights.begin(), weights.end()) < 1)
    node.cannot("its weights have no spatial axes");
  return read_window(node, node.integers("kernel_shape", Sizes(weights.begin() + 2, weights.end())));
}

void require_channels(const NodeImport& node, i64 group, i64 channels) {
  if (group < 1 || node.shape(1)[0] % group != 0 || channels != node.shape()[1])
    node.cannot("weights and groups do not fit the channels of its input");
}

void add_convolution(NodeImport& node, const char* type, const Window& window, i64 group, const Shape& out) {
  const auto values = node.floats(1);
  auto& layer = node.add(type, {0}, out);
  auto& p = *layer.mutable_convolution_param();
  p.set_num_output(static_cast<std::uint32_t>(out[1]));
  if (!node.has(2)) p.set_bias_term(false);
  set(window.begin, 0, *p.mutable_pad());
  set(window.kernel, 0, *p.mutable_kernel_size());
  set(window.stride, 1, *p.mutable_stride());
  set(window.dilation, 1, *p.mutable_dilation());
  if (group > 1) p.set_group(static_cast<std::uint32_t>(group));
  set_filler(p);
  NodeImport::add_blob(node.shape(1), values, layer);
  if (node.has(2)) NodeImport::add_blob({out[1]}, node.floats(2), layer);
}

void take_conv(NodeImport& node) {
  const auto window = read_convolution(node);
  require_even_pads(node, window);
  const Shape weights = node.shape(1);
  const i64 group = node.integer("group", 1);
  require_channels(node, group, weights[1] * group);
  Shape out = {node.shape()[0], weights[0]};
  for (std::size_t d = 0; d < window.axes(); ++d)
    out.push_back(window.room(d, node.shape()[d + 2]) / window.stride[d] + 1);
  add_convolution(node, "Convolution", window, group, out);
}

void take_conv_transpose(NodeImport& node) {
  const auto window = read_convolution(node);
  const Sizes extra = node.integers("output_padding", {});
  const Shape weights = node.shape(1);
  const i64 group = node.integer("group", 1);
  require_channels(node, group, weights[0]);
  if (std::any_of(extra.begin(), extra.end(), [](i64 p) { return p != 0; }) ||
      node.attribute("output_shape") != nullptr || window.begin != window.end || window.pads_with_zeros)
    node.cannot("it pads its output on one side", "use a kernel, stride and pad that give the size alone");
  Shape out = {node.shape()[0], weights[1] * group};
  for (std::size_t d = 0; d < window.axes(); ++d)
    out.push_back((node.shape()[d + 2] - 1) * window.stride[d] + window.extent(d) - 2 * window.begin[d]);
  add_convolution(node, "Deconvolution", window, group, out);
}

void pool_globally(NodeImport& node, caffe::PoolingParameter::PoolMethod method) {
  if (node.rank() != 4) node.cannot("its input is no N x C x H x W");
  auto& p = *node.add("Pooling", {0}, {node.shape()[0], node.shape()[1], 1, 1}).mutable_pooling_param();
  p.set_pool(method);
  p.set_global_pooling(true);
}

/// The number of windows on axis d as ONNX counts them: one that begins in the padding at the end counts not.
i64 windows(const Window& window, std::size_t d, i64 size, bool rounds_up) {
  const i64 room = window.room(d, size), stride = window.stride[d];
  i64 count = (rounds_up ? room + stride - 1 : room) / stride + 1;
  if (rounds_up && (count - 1) * stride >= size + window.begin[d]) --count;
  return count;
}

/// The number as Caffe counts them, with the begin's padding on both sides.
i64 caffe_windows(const Window& window, std::size_t d, i64 size, bool rounds_up) {
  const i64 pad = window.begin[d], stride = window.stride[d], room = size + 2 * pad - window.kernel[d];
  if (room < 0) return 0;
  i64 count = (rounds_up ? room + stride - 1 : room) / stride + 1;
  const bool is_padded = std::any_of(window.begin.begin(), window.begin.end(), [](i64 p) { return p > 0; });
  if (is_padded && (count - 1) * stride >= size + pad) --count;
  return count;
}

/// The divisors of a mean must be Caffe's, which counts the padding, as far as it is alike on both sides.
void require_means(const NodeImport& node, const Window& window, const Shape& out) {
  if (!window.is_padded()) return;
  bool counts_padding = node.integer("count_include_pad", 0) != 0;
  if (window.pads_with_zeros) {  // which count always; padding of its own may not
    const Sizes own = node.integers("pads", {});
    if (!counts_padding && std::any_of(own.begin(), own.end(), [](i64 p) { return p > 0; }))
      node.cannot("it pads what is padded already, and does not count all of it");
    counts_padding = true;
  }
  bool leaves_image = false, ends_beyond = false;
  for (std::size_t d = 0; d < window.axes(); ++d) {
    const i64 size = node.shape()[d + 2], end = (out[d + 2] - 1) * window.stride[d] + window.kernel[d];
    leaves_image = leaves_image || window.begin[d] > 0 || end > size + window.begin[d];
    ends_beyond = ends_beyond || end > size + window.begin[d] + std::min(window.begin[d], window.end[d]);
  }
  if (leaves_image && !counts_padding)
    node.cannot("its means do not count the padding", "export with count_include_pad=True");
  for (std::size_t d = 0; ends_beyond && d < window.axes(); ++d)
    if (window.begin[d] != window.end[d]) node.cannot("it pads one side only", "pad both sides alike");
}

void take_pool(NodeImport& node) {
  const bool means = node.type() == "AveragePool";
  if (node.rank() != 4) node.cannot("its input is no N x C x H x W");
  const auto window = read_window(node, node.integers("kernel_shape", {}));
  if (window.dilation != Sizes(2, 1)) node.cannot("it is dilated", "use a dense window");
  if (!means && window.pads_with_zeros) node.cannot("zeros are padded before it, which its maxima count");
  if (node.outputs() > 1 && !node.output_is_unused(1)) node.cannot("its places count over the batch");
  const bool rounds_up = node.integer("ceil_mode", 0) != 0;
  Shape out = {node.shape()[0], node.shape()[1]};
  bool floor_fits = true, ceil_fits = true;
  for (std::size_t d = 0; d < 2; ++d) {
    const i64 size = node.shape()[d + 2];
    if (window.begin[d] >= window.kernel[d] || window.room(d, size) < 0)
      node.cannot("its window does not fit the image");
    out.push_back(windows(window, d, size, rounds_up));
    floor_fits = floor_fits && caffe_windows(window, d, size, false) == out.back();
    ceil_fits = ceil_fits && caffe_windows(window, d, size, true) == out.back();
  }
  if (!floor_fits && !ceil_fits)
    node.cannot("no rounding of Caffe's gives its number of windows", "pad both sides alike");
  if (means) require_means(node, window, out);
  auto& p = *node.add("Pooling", {0}, out).mutable_pooling_param();
  p.set_pool(means ? caffe::PoolingParameter::AVE : caffe::PoolingParameter::MAX);
  const auto each = [](i64 value) { return static_cast<std::uint32_t>(value); };
  const auto alike = [](const Sizes& values) { return values[0] == values[1]; };
  if (alike(window.kernel)) {
    p.set_kernel_size(each(window.kernel[0]));
  } else {
    p.set_kernel_h(each(window.kernel[0]));
    p.set_kernel_w(each(window.kernel[1]));
  }
  if (!alike(window.stride)) {
    p.set_stride_h(each(window.stride[0]));
    p.set_stride_w(each(window.stride[1]));
  } else if (window.stride[0] != 1) {
    p.set_stride(each(window.stride[0]));
  }
  if (!alike(window.begin)) {
    p.set_pad_h(each(window.begin[0]));
    p.set_pad_w(each(window.begin[1]));
  } else if (window.begin[0] != 0) {
    p.set_pad(each(window.begin[0]));
  }
  if (!ceil_fits) p.set_round_mode(caffe::PoolingParameter::FLOOR);
}

void take_reduce_mean(NodeImport& node) {
  Sizes axes = node.integers_of("axes", 1, {});
  for (i64& axis : axes) axis = node.axis(axis);
  std::sort(axes.begin(), axes.end());
  if (node.rank() != 4 || axes != Sizes{2, 3})
    node.cannot("its mean is over other axes than both spatial ones", "use a global average pooling");
  pool_globally(node, caffe::PoolingParameter::AVE);
  if (node.integer("keepdims", 1) == 0) node.flatten_result({node.shape()[0], node.shape()[1]});
}

/// Zeros around an image wait for what reads them.
void take_pad(NodeImport& node) {
  const auto given = node.integers_of("pads", 1, {});
  const float value = node.has(2) ? node.scalar(2) : node.number("value", 0);
  Sizes pads(static_cast<std::size_t>(2 * node.rank()), 0);
  Sizes axes;
  for (i64 d = 0; d < node.rank(); ++d) axes.push_back(d);
  if (node.has(3)) axes = node.whole(3);
  if (given.size() != 2 * axes.size()) node.cannot("its pads do not fit its input");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<std::size_t>(node.axis(axes[i]));
    pads[d] = given[i];
    pads[d + pads.size() / 2] = given[i + axes.size()];
  }
  if (std::all_of(pads.begin(), pads.end(), [](i64 p) { return p == 0; })) return node.pass_on();
  const auto rank = static_cast<std::size_t>(node.rank());
  const bool spatial = rank > 2 && pads[0] == 0 && pads[1] == 0 && pads[rank] == 0 && pads[rank + 1] == 0 &&
                       std::all_of(pads.begin(), pads.end(), [](i64 p) { return p >= 0 && p < 1 << 20; });
  if (node.word("mode", "constant") != "constant" || value != 0 || !spatial || !node.in().pads.empty())
    node.cannot("only zeros around an image can be padded");
  node.pass_on();
  node.output(0).pads = pads;
}

void take_lrn(NodeImport& node) {
  const i64 size = node.integer("size", 0);
  if (size < 1 || size > 1 << 20 || size % 2 == 0 || node.rank() != 4)
    node.cannot("its window must be odd, its input N x C x H x W");
  auto& p = *node.add("LRN", {0}, node.shape()).mutable_lrn_param();
  p.set_local_size(static_cast<std::uint32_t>(size));
  p.set_alpha(node.number("alpha", 1e-4F));
  p.set_beta(node.number("beta", 0.75F));
  p.set_k(node.number("bias", 1));
}
}  // namespace

void take_windows(TakeTable& table) {
  table["Conv"] = take_conv;
  table["ConvTranspose"] = take_conv_transpose;
  table["MaxPool"] = table["AveragePool"] = take_pool;
  table["GlobalAveragePool"] = [](NodeImport& node) { pool_globally(node, caffe::PoolingParameter::AVE); };
  table["GlobalMaxPool"] = [](NodeImport& node) { pool_globally(node, caffe::PoolingParameter::MAX); };
  table["ReduceMean"] = take_reduce_mean;
  table["Pad"] = take_pad;
  table["LRN"] = take_lrn;
}

}  // namespace cortado
