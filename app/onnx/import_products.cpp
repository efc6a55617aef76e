#include <algorithm>

#include "app/onnx/node_import.h"

// Operations with weights that are no windows.
namespace cortado {
namespace {

std::vector<float> turned(const std::vector<float>& values, i64 rows, i64 columns) {
  std::vector<float> result(values.size());
  for (i64 r = 0; r < rows; ++r)
    for (i64 c = 0; c < columns; ++c)
      result[static_cast<std::size_t>(c * rows + r)] = values[static_cast<std::size_t>(r * columns + c)];
  return result;
}

/// Adds an InnerProduct by weights of shape outputs x terms.
caffe::LayerParameter& add_product(NodeImport& node, const std::vector<float>& weights, i64 outputs, i64 terms) {
  if (node.shape().back() != terms)
    node.cannot("its weights take " + std::to_string(terms) + " values, its input has shape " +
                to_string(node.shape()));
  Shape out = node.shape();
  out.back() = outputs;
  auto& layer = node.add("InnerProduct", {0}, out);
  auto& p = *layer.mutable_inner_product_param();
  p.set_num_output(static_cast<std::uint32_t>(outputs));
  if (out.size() != 2) p.set_axis(static_cast<int>(out.size()) - 1);
  p.mutable_weight_filler()->set_type("msra");
  NodeImport::add_blob({outputs, terms}, weights, layer);
  return layer;
}

void take_gemm(NodeImport& node) {
  if (node.rank() != 2 || node.shape(1).size() != 2 || node.integer("transA", 0) != 0)
    node.cannot("it is no product of rows by constant weights");
  const float alpha = node.number("alpha", 1), beta = node.number("beta", 1);
  const bool is_turned = node.integer("transB", 0) != 0;
  const Shape shape = node.shape(1);
  const i64 outputs = shape[is_turned ? 0 : 1], terms = shape[is_turned ? 1 : 0];
  std::vector<float> weights = node.floats(1);
  if (!is_turned) weights = turned(weights, terms, outputs);
  for (float& weight : weights) weight *= alpha;
  std::vector<float> bias;
  if (node.has(2)) {
    bias = node.floats(2);
    if (bias.size() == 1) bias.resize(static_cast<std::size_t>(outputs), bias[0]);
    if (static_cast<i64>(bias.size()) != outputs) node.cannot("its bias differs by sample");
    for (float& value : bias) value *= beta;
  }
  auto& layer = add_product(node, weights, outputs, terms);
  if (bias.empty())
    layer.mutable_inner_product_param()->set_bias_term(false);
  else
    NodeImport::add_blob({outputs}, bias, layer);
}

/// A bias that is added behind joins it (give_bias).
void take_mat_mul(NodeImport& node) {
  const Shape shape = node.shape(1);
  if (node.rank() < 2 || shape.size() != 2) node.cannot("it is no product of rows by constant weights");
  auto& layer = add_product(node, turned(node.floats(1), shape[0], shape[1]), shape[1], shape[0]);
  layer.mutable_inner_product_param()->set_bias_term(false);
}

void take_batch_normalization(NodeImport& node) {
  if (node.rank() < 2) node.cannot("its input has no channels");
  const i64 channels = node.shape()[1];
  std::vector<std::vector<float>> all;
  for (std::size_t i = 1; i < 5; ++i) {
    all.push_back(node.floats(i));
    if (static_cast<i64>(all.back().size()) != channels)
      node.cannot("input " + std::to_string(i) + " has no value for each channel");
  }
  for (std::size_t i = 1; i < node.outputs(); ++i)
    if (!node.output_is_unused(i)) node.cannot("its statistics are read");
  auto& norm = node.add_in_place("BatchNorm", node.shape());
  norm.mutable_batch_norm_param()->set_eps(node.number("epsilon", 1e-5F));
  norm.mutable_batch_norm_param()->set_moving_average_fraction(node.number("momentum", 0.9F));
  for (int i = 0; i < 3; ++i) norm.add_param()->set_lr_mult(0);
  NodeImport::add_blob({channels}, all[2], norm);
  NodeImport::add_blob({channels}, all[3], norm);
  NodeImport::add_blob({1}, {1}, norm);
  auto& scale = node.add_inner("Scale", {norm.top(0)}, "_scale");
  scale.set_top(0, norm.top(0));
  scale.mutable_scale_param()->set_bias_term(true);
  NodeImport::add_blob({channels}, all[0], scale);
  NodeImport::add_blob({channels}, all[1], scale);
}
}  // namespace

void take_products(TakeTable& table) {
  table["Gemm"] = take_gemm;
  table["MatMul"] = take_mat_mul;
  table["BatchNormalization"] = take_batch_normalization;
}

}  // namespace cortado
