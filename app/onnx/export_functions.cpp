#include <cmath>

#include "app/onnx/layer_export.h"

// Layers that compute each value from one or several values at its place.
namespace cortado {
namespace {
void plain(LayerExport& layer, const char* type) { layer.node(type, {layer.bottom()}, layer.top()); }

void say_nothing(LayerExport& layer) {
  for (std::size_t t = 0; t < layer.tops(); ++t) layer.alias(layer.bottom(), t);
}

void say_silence(LayerExport& /*layer*/) {}

void say_relu(LayerExport& layer) {
  const float slope = layer.text().relu_param().negative_slope();
  NodeMaker node = layer.node(slope == 0 ? "Relu" : "LeakyRelu", {layer.bottom()}, layer.top());
  if (slope != 0) node.set("alpha", slope);
}

void say_prelu(LayerExport& layer) {
  Shape slopes(layer.in().size() - 1, 1);  // of a channel, and of the axes behind
  slopes[0] = static_cast<i64>(layer.values(0).size());
  layer.node("PRelu", {layer.bottom(), layer.blob(0, slopes)}, layer.top());
}

void say_elu(LayerExport& layer) {
  layer.node("Elu", {layer.bottom()}, layer.top()).set("alpha", layer.text().elu_param().alpha());
}

void clip(LayerExport& layer, float least, float most) {
  layer.node("Clip", {layer.bottom(), layer.constant(least), layer.constant(most)}, layer.top());
}
void say_clip(LayerExport& layer) { clip(layer, layer.text().clip_param().min(), layer.text().clip_param().max()); }
void say_relu6(LayerExport& layer) { clip(layer, 0, 6); }

void say_swish(LayerExport& layer) {
  const std::string scaled = layer.affine(layer.bottom(), layer.text().swish_param().beta(), 0);
  layer.node("Mul", {layer.bottom(), layer.inner("Sigmoid", {scaled})}, layer.top());
}

/// log(base) of Exp and Log, whose base -1 means e.
double log_of(float base) { return base == -1 ? 1 : std::log(double{base}); }

void say_exp(LayerExport& layer) {
  const auto& p = layer.text().exp_param();
  const double base = log_of(p.base());
  layer.node("Exp",
             {layer.affine(layer.bottom(), static_cast<float>(base * double{p.scale()}),
                           static_cast<float>(base * double{p.shift()}))},
             layer.top());
}

void say_log(LayerExport& layer) {
  const auto& p = layer.text().log_param();
  const std::string value = layer.inner("Log", {layer.affine(layer.bottom(), p.scale(), p.shift())});
  layer.alias(layer.affine(value, static_cast<float>(1 / log_of(p.base())), 0));
}

void say_power(LayerExport& layer) {
  const auto& p = layer.text().power_param();
  if (p.power() == 0 || p.scale() == 0) {  // a constant of the bottom's shape
    const float value = p.power() == 0 ? 1 : std::pow(p.shift(), p.power());
    layer.node("Expand", {layer.constant(value), layer.integers(layer.out())}, layer.top());
    return;
  }
  const std::string value = layer.affine(layer.bottom(), p.scale(), p.shift());
  layer.alias(p.power() == 1 ? value : layer.inner("Pow", {value, layer.constant(p.power())}));
}

void say_threshold(LayerExport& layer) {
  const std::string above =
      layer.inner("Greater", {layer.bottom(), layer.constant(layer.text().threshold_param().threshold())});
  layer.node("Cast", {above}, layer.top()).set("to", i64{onnx::TensorProto::FLOAT});
}

void say_eltwise(LayerExport& layer) {
  const auto& p = layer.text().eltwise_param();
  std::vector<std::string> terms = layer.bottom_names;
  if (p.operation() == caffe::EltwiseParameter::MAX) {
    layer.node("Max", terms, layer.top());
    return;
  }
  const bool multiplies = p.operation() == caffe::EltwiseParameter::PROD;
  for (int i = 0; i < p.coeff_size(); ++i)
    terms[static_cast<std::size_t>(i)] = layer.affine(terms[static_cast<std::size_t>(i)], p.coeff(i), 0);
  std::string value = terms[0];
  for (std::size_t i = 1; i + 1 < terms.size(); ++i) value = layer.inner(multiplies ? "Mul" : "Add", {value, terms[i]});
  if (terms.size() == 1)
    layer.alias(value);
  else
    layer.node(multiplies ? "Mul" : "Add", {value, terms.back()}, layer.top());
}

void say_axpy(LayerExport& layer) {
  Shape factors(layer.in(1).size(), 1);
  factors[0] = layer.in(1)[0], factors[1] = layer.in(1)[1];
  const std::string factor = layer.reshaped(layer.bottom(0), layer.in(0), factors);
  layer.node("Add", {layer.inner("Mul", {factor, layer.bottom(1)}), layer.bottom(2)}, layer.top());
}

void say_softmax(LayerExport& layer) {
  layer.node("Softmax", {layer.bottom()}, layer.top()).set("axis", layer.axis(layer.text().softmax_param().axis()));
}
}  // namespace

void add_function_layers(SayTable& table) {
  table["AbsVal"] = [](LayerExport& layer) { plain(layer, "Abs"); };
  table["BNLL"] = [](LayerExport& layer) { plain(layer, "Softplus"); };
  table["Sigmoid"] = [](LayerExport& layer) { plain(layer, "Sigmoid"); };
  table["TanH"] = [](LayerExport& layer) { plain(layer, "Tanh"); };
  table["Dropout"] = table["Split"] = say_nothing;
  table["Silence"] = say_silence;
  table["ReLU"] = say_relu;
  table["PReLU"] = say_prelu;
  table["ELU"] = say_elu;
  table["Clip"] = say_clip;
  table["ReLU6"] = say_relu6;
  table["Swish"] = say_swish;
  table["Exp"] = say_exp;
  table["Log"] = say_log;
  table["Power"] = say_power;
  table["Threshold"] = say_threshold;
  table["Eltwise"] = say_eltwise;
  table["Axpy"] = say_axpy;
  table["Softmax"] = say_softmax;
}

}  // namespace cortado
