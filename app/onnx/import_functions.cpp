#include <algorithm>
#include <limits>
#include <optional>

#include "app/onnx/node_import.h"

// Operations that compute each value from one or several values at its place.
namespace cortado {
namespace {

/// A function of each value, under Caffe's name.
void plain(NodeImport& node, const char* type) { node.add_in_place(type, node.shape()); }

void power_in_place(NodeImport& node, float power, float scale, float shift) {
  auto& p = *node.add_in_place("Power", node.shape()).mutable_power_param();
  if (power != 1) p.set_power(power);
  if (scale != 1) p.set_scale(scale);
  if (shift != 0) p.set_shift(shift);
}

void take_leaky_relu(NodeImport& node) {
  const float slope = node.number("alpha", 0.01F);
  node.add_in_place("ReLU", node.shape()).mutable_relu_param()->set_negative_slope(slope);
}

void take_prelu(NodeImport& node) {
  const auto slopes = node.floats(1);
  const bool is_shared = slopes.size() == 1;
  if (node.rank() < 2 || (!is_shared && static_cast<i64>(slopes.size()) != node.shape()[1]))
    node.cannot("it has neither one slope nor one for each channel");
  auto& layer = node.add_in_place("PReLU", node.shape());
  layer.mutable_prelu_param()->set_channel_shared(is_shared);
  NodeImport::add_blob(is_shared ? Shape{} : Shape{node.shape()[1]}, slopes, layer);
}

void take_elu(NodeImport& node) {
  const float alpha = node.number("alpha", 1);
  node.add_in_place("ELU", node.shape()).mutable_elu_param()->set_alpha(alpha);
}

void set_clip(caffe::LayerParameter& layer, float least, float most) {
  layer.mutable_clip_param()->set_min(least);
  layer.mutable_clip_param()->set_max(most);
}

void take_clip(NodeImport& node) {
  using Limits = std::numeric_limits<float>;
  const float least = node.has(1) ? node.scalar(1) : Limits::lowest();
  const float most = node.has(2) ? node.scalar(2) : Limits::max();
  if (!(least <= most)) node.cannot("its least value is above its largest");
  set_clip(node.add_in_place("Clip", node.shape()), least, most);
}

/// clip(alpha x + beta) to [0, 1], as a blob within the node.
std::string hard_sigmoid(NodeImport& node, float alpha, float beta) {
  auto& line = node.add_inner("Power", {node.blob_in(0)}, "_gate");
  line.mutable_power_param()->set_scale(alpha);
  line.mutable_power_param()->set_shift(beta);
  auto& clip = node.add_inner("Clip", {line.top(0)}, "_clip");
  set_clip(clip, 0, 1);
  clip.set_top(0, line.top(0));
  return line.top(0);
}

void take_hard_sigmoid(NodeImport& node) {
  node.result(hard_sigmoid(node, node.number("alpha", 0.2F), node.number("beta", 0.5F)), node.shape());
}

void take_hard_swish(NodeImport& node) {
  const std::string gate = hard_sigmoid(node, 1.0F / 6, 0.5F);
  auto& product = node.add("Eltwise", {0}, node.shape());
  product.add_bottom(gate);
  product.mutable_eltwise_param()->set_operation(caffe::EltwiseParameter::PROD);
}

/// The axis of a softmax over one axis. Before opset 13 it was over all axes from one on.
int softmax_axis(NodeImport& node) {
  const i64 axis = node.axis(node.integer("axis", node.opset() < 13 ? 1 : -1));
  if (node.opset() < 13 && count_of({node.shape().begin() + axis + 1, node.shape().end()}) != 1)
    node.cannot("it is over several axes", "export with opset 13 or newer");
  return static_cast<int>(axis);
}

void take_softmax(NodeImport& node) {
  const int axis = softmax_axis(node);
  auto& layer = node.add("Softmax", {0}, node.shape());
  if (axis != 1) layer.mutable_softmax_param()->set_axis(axis);
}

void take_log_softmax(NodeImport& node) {
  const int axis = softmax_axis(node);
  auto& softmax = node.add_inner("Softmax", {node.blob_in(0)}, "_softmax");
  if (axis != 1) softmax.mutable_softmax_param()->set_axis(axis);
  node.result(node.add_inner("Log", {softmax.top(0)}, "").top(0), node.shape());
}

void take_dropout(NodeImport& node) {
  const float ratio = node.has(1) ? node.scalar(1) : node.number("ratio", 0.5F);
  if (!(ratio >= 0 && ratio < 1)) node.cannot("its ratio is not within [0, 1)");
  node.add_in_place("Dropout", node.shape()).mutable_dropout_param()->set_dropout_ratio(ratio);
}

/// A constant that is the same along most axes of `x`: its values belong to axes [first, end).
struct Spread {
  std::size_t first, end;
};

/// Where the values of a constant of shape `c` belong in an array of shape `x`; nothing if it is larger or scattered.
std::optional<Spread> spread_of(Shape c, const Shape& x) {
  while (c.size() > x.size() && c[0] == 1) c.erase(c.begin());
  if (c.size() > x.size()) return {};
  c.insert(c.begin(), x.size() - c.size(), 1);
  Spread spread{x.size(), 0};
  for (std::size_t d = 0; d < x.size(); ++d)
    if (c[d] != 1) {
      spread.first = std::min(spread.first, d);
      spread.end = d + 1;
    }
  if (spread.end == 0) return Spread{0, 0};
  for (std::size_t d = spread.first; d < spread.end; ++d)
    if (c[d] != x[d]) return {};
  return spread;
}

/// Lets the layer that makes input `x` add the bias. False: it cannot.
bool give_bias(NodeImport& node, std::size_t x, const Spread& spread, const std::vector<float>& bias) {
  caffe::LayerParameter* const maker = node.only_maker(x);
  if (maker == nullptr || maker->blobs_size() != 1 || maker->blobs(0).shape().dim_size() == 0) return false;
  const std::size_t rank = node.shape(x).size();
  const bool of_last = spread.first + 1 == rank && spread.end == rank,
             of_channels = spread.first == 1 && spread.end == 2;
  if (maker->type() == "InnerProduct" && of_last)
    maker->mutable_inner_product_param()->clear_bias_term();
  else if (maker->type() == "Convolution" && of_channels)
    maker->mutable_convolution_param()->clear_bias_term();
  else if (maker->type() == "Scale" && static_cast<int>(spread.first) == maker->scale_param().axis() &&
           static_cast<int>(spread.end - spread.first) == maker->scale_param().num_axes())
    maker->mutable_scale_param()->set_bias_term(true);
  else
    return false;
  Shape shape(node.shape(x).begin() + static_cast<std::ptrdiff_t>(spread.first),
              node.shape(x).begin() + static_cast<std::ptrdiff_t>(spread.end));
  NodeImport::add_blob(shape, bias, *maker);
  node.pass_on(x);
  return true;
}

/// scale x + shift, where one of both is the constant input `c`, or its inverse or negative, and x is input `x`.
void combine_with_constant(NodeImport& node, std::size_t x, std::size_t c) {
  std::vector<float> values = node.floats(c);
  const bool adds = node.type() == "Add" || node.type() == "Sub";
  if (node.type() == "Sub" && c == 0) node.cannot("it subtracts from a constant", "multiply by -1 and add");
  if (node.type() == "Div" && c == 0) node.cannot("it divides a constant", "multiply by the inverse");
  for (float& value : values) value = node.type() == "Sub" ? -value : node.type() == "Div" ? 1 / value : value;
  const auto spread = spread_of(node.shape(c), node.shape(x));
  if (!spread) node.cannot("its constant of shape " + to_string(node.shape(c)) + " lies across its input");
  if (spread->end == 0) {
    auto& layer = node.add("Power", {x}, node.shape(x));
    if (adds)
      layer.mutable_power_param()->set_shift(values.at(0));
    else
      layer.mutable_power_param()->set_scale(values.at(0));
    return;
  }
  if (spread->first == 0 && node.shape(x).size() > 1) node.cannot("its constant differs by sample");
  if (adds && give_bias(node, x, *spread, values)) return;
  auto& layer = node.add(adds ? "Bias" : "Scale", {x}, node.shape(x));
  const auto axis = static_cast<int>(spread->first), axes = static_cast<int>(spread->end - spread->first);
  const auto place = [&](auto& p) {
    if (axis != 1) p.set_axis(axis);
    if (axes != 1) p.set_num_axes(axes);
  };
  if (adds)
    place(*layer.mutable_bias_param());
  else
    place(*layer.mutable_scale_param());
  NodeImport::add_blob({node.shape(x).begin() + axis, node.shape(x).begin() + axis + axes}, values, layer);
}

/// A factor for each channel of each sample, N x C or N x C x 1 x 1 ..., times an image.
void scale_channels(NodeImport& node, std::size_t image, std::size_t factor) {
  std::string blob = node.blob_in(factor);
  const Shape& shape = node.shape(image);
  if (node.shape(factor).size() != 2) blob = node.add_inner("Flatten", {blob}, "_factor").top(0);
  auto& layer = node.add("Scale", {image}, shape);
  layer.add_bottom(blob);
  layer.mutable_scale_param()->set_axis(0);
}

bool is_factor(const Shape& factor, const Shape& image) {
  return factor.size() == image.size() && image.size() > 2 && factor[0] == image[0] && factor[1] == image[1] &&
         std::all_of(factor.begin() + 2, factor.end(), [](i64 d) { return d == 1; });
}

void take_arithmetic(NodeImport& node) {
  if (node.in(1).is_constant()) return combine_with_constant(node, 0, 1);
  if (node.in(0).is_constant()) return combine_with_constant(node, 1, 0);
  const Shape &a = node.shape(0), &b = node.shape(1);
  if (a != b) {
    if (node.type() == "Mul" && is_factor(b, a)) return scale_channels(node, 0, 1);
    if (node.type() == "Mul" && is_factor(a, b)) return scale_channels(node, 1, 0);
    node.cannot("its inputs have shapes " + to_string(a) + " and " + to_string(b), "only factors by channel spread");
  }
  if (node.type() == "Div") node.cannot("it divides one computed value by another");
  auto& p = *node.add("Eltwise", {0, 1}, a).mutable_eltwise_param();
  if (node.type() == "Mul") p.set_operation(caffe::EltwiseParameter::PROD);
  if (node.type() != "Sub") return;
  p.add_coeff(1);
  p.add_coeff(-1);
}

/// Max and Sum of several values.
void take_several(NodeImport& node) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    if (node.shape(i) != node.shape()) node.cannot("its inputs have several shapes");
    all.push_back(i);
  }
  if (all.size() == 1) return node.pass_on();
  auto& layer = node.add("Eltwise", all, node.shape());
  if (node.type() == "Max") layer.mutable_eltwise_param()->set_operation(caffe::EltwiseParameter::MAX);
}

void take_cast(NodeImport& node) {
  if (node.integer("to", 0) != onnx::TensorProto::FLOAT) node.cannot("it makes other values than float of a blob");
  node.pass_on();
}
}  // namespace

void take_functions(TakeTable& table) {
  table["Relu"] = [](NodeImport& node) { plain(node, "ReLU"); };
  table["Sigmoid"] = [](NodeImport& node) { plain(node, "Sigmoid"); };
  table["Tanh"] = [](NodeImport& node) { plain(node, "TanH"); };
  table["Abs"] = [](NodeImport& node) { plain(node, "AbsVal"); };
  table["Softplus"] = [](NodeImport& node) { plain(node, "BNLL"); };
  table["Exp"] = [](NodeImport& node) { plain(node, "Exp"); };
  table["Log"] = [](NodeImport& node) { plain(node, "Log"); };
  table["Neg"] = [](NodeImport& node) { power_in_place(node, 1, -1, 0); };
  table["Sqrt"] = [](NodeImport& node) { power_in_place(node, 0.5F, 1, 0); };
  table["LeakyRelu"] = take_leaky_relu;
  table["PRelu"] = take_prelu;
  table["Elu"] = take_elu;
  table["Clip"] = take_clip;
  table["HardSigmoid"] = take_hard_sigmoid;
  table["HardSwish"] = take_hard_swish;
  table["Softmax"] = take_softmax;
  table["LogSoftmax"] = take_log_softmax;
  table["Dropout"] = take_dropout;
  table["Identity"] = [](NodeImport& node) { node.pass_on(); };
  table["Cast"] = take_cast;
  table["Add"] = table["Sub"] = table["Mul"] = table["Div"] = take_arithmetic;
  table["Max"] = table["Sum"] = take_several;
}

}  // namespace cortado
