#include "app/onnx/layer_export.h"

// Layers that normalise, scale and multiply by weights.
namespace cortado {
namespace {

void say_batch_norm(LayerExport& layer) {
  const auto& p = layer.text().batch_norm_param();
  if (p.has_use_global_stats() && !p.use_global_stats())
    layer.cannot("it takes the statistics of its batch in phase TEST", "leave use_global_stats out");
  if (layer.in().size() < 2) layer.cannot("its bottom has no channels");
  std::vector<float> mean = layer.values(0), variance = layer.values(1);
  const float factor = layer.values(2)[0], share = factor == 0 ? 0 : 1 / factor;
  for (float& value : mean) value *= share;
  for (float& value : variance) value *= share;
  const Shape channels{static_cast<i64>(mean.size())};
  const std::vector<float> ones(mean.size(), 1), zeros(mean.size(), 0);
  layer
      .node("BatchNormalization",
            {layer.bottom(), layer.constant(channels, ones), layer.constant(channels, zeros),
             layer.constant(channels, mean), layer.constant(channels, variance)},
            layer.top())
      .set("epsilon", p.eps());
}

/// A factor's shape, from `axis` of the first bottom on, with ones for the axes behind.
Shape spread(const LayerExport& layer, const Shape& factor, i64 axis) {
  Shape shape = factor;
  if (!factor.empty()) shape.resize(layer.in().size() - static_cast<std::size_t>(axis), 1);
  return shape;
}

void say_scale(LayerExport& layer) {
  const auto& p = layer.text().scale_param();
  const i64 axis = layer.axis(p.axis());
  const bool is_given = layer.bottoms() > 1;
  const Shape own = is_given ? layer.in(1) : layer.shape(0), shape = spread(layer, own, axis);
  const std::string factor = is_given ? layer.reshaped(layer.bottom(1), own, shape) : layer.blob(0, shape);
  if (!p.bias_term()) {
    layer.node("Mul", {layer.bottom(), factor}, layer.top());
    return;
  }
  const std::string scaled = layer.inner("Mul", {layer.bottom(), factor});
  layer.node("Add", {scaled, layer.blob(is_given ? 0 : 1, shape)}, layer.top());
}

void say_bias(LayerExport& layer) {
  const i64 axis = layer.axis(layer.text().bias_param().axis());
  const bool is_given = layer.bottoms() > 1;
  const Shape own = is_given ? layer.in(1) : layer.shape(0), shape = spread(layer, own, axis);
  layer.node("Add", {layer.bottom(), is_given ? layer.reshaped(layer.bottom(1), own, shape) : layer.blob(0, shape)},
             layer.top());
}

void say_inner_product(LayerExport& layer) {
  const auto& p = layer.text().inner_product_param();
  const i64 axis = layer.axis(p.axis()), terms = layer.shape(0)[p.transpose() ? 0 : 1];
  const Shape rows{layer.count_in() / terms, terms}, made{rows[0], i64{p.num_output()}};
  const bool flattens = axis == 1 && layer.in().size() != 2;
  std::string value = flattens ? layer.inner("Flatten", {layer.bottom()})  // axis 1
                               : layer.reshaped(layer.bottom(), layer.in(), rows);
  std::vector<std::string> inputs = {value, layer.blob(0)};
  if (layer.has_values(1)) inputs.push_back(layer.blob(1));
  const bool is_done = layer.out() == made;
  const std::string product = is_done ? layer.top() : layer.inner_name();
  layer.node("Gemm", inputs, product).set("transB", i64{p.transpose() ? 0 : 1});
  if (!is_done) layer.node("Reshape", {product, layer.integers(layer.out())}, layer.top());
}

void say_embed(LayerExport& layer) {
  const std::string numbers = layer.inner_name();
  layer.node("Cast", {layer.bottom()}, numbers).set("to", i64{onnx::TensorProto::INT64});
  const std::string rows = layer.blob(0);
  if (!layer.has_values(1)) {
    layer.node("Gather", {rows, numbers}, layer.top());
    return;
  }
  const std::string picked = layer.inner("Gather", {rows, numbers});
  layer.node("Add", {picked, layer.blob(1)}, layer.top());
}

std::string mean_over(LayerExport& layer, const std::string& value, const std::vector<i64>& axes) {
  const std::string mean = layer.inner_name();
  layer.node("ReduceMean", {value}, mean).set("axes", axes);
  return mean;
}

std::vector<i64> axes_from(const LayerExport& layer, i64 first) {
  std::vector<i64> axes;
  for (i64 d = first; d < static_cast<i64>(layer.in().size()); ++d) axes.push_back(d);
  return axes;
}

void say_mvn(LayerExport& layer) {
  const auto& p = layer.text().mvn_param();
  const auto axes = axes_from(layer, p.across_channels() ? 1 : 2);
  const std::string mean = mean_over(layer, layer.bottom(), axes);
  if (!p.normalize_variance()) {
    layer.node("Sub", {layer.bottom(), mean}, layer.top());
    return;
  }
  const std::string centred = layer.inner("Sub", {layer.bottom(), mean});
  const std::string variance = mean_over(layer, layer.inner("Mul", {centred, centred}), axes);
  const std::string deviation = layer.affine(layer.inner("Sqrt", {variance}), 1, p.eps());
  layer.node("Div", {centred, deviation}, layer.top());
}

void say_normalize(LayerExport& layer) {
  const auto& p = layer.text().norm_param();
  const auto axes = p.across_spatial() ? axes_from(layer, 1) : std::vector<i64>{1};
  const std::string squares = layer.inner("Mul", {layer.bottom(), layer.bottom()});
  const std::string sum = layer.inner("ReduceSum", {squares, layer.integers(axes)});
  const std::string norm = layer.inner("Sqrt", {layer.affine(sum, 1, p.eps())});
  const std::string normal = layer.inner("Div", {layer.bottom(), norm});
  layer.node("Mul", {normal, layer.blob(0, spread(layer, layer.shape(0), 1))}, layer.top());
}

void say_reduction(LayerExport& layer) {
  const auto& p = layer.text().reduction_param();
  const auto axes = axes_from(layer, layer.axis(p.axis()));
  const std::string value = layer.inner_name();
  if (p.operation() == caffe::ReductionParameter::SUM) {
    layer.node("ReduceSum", {layer.bottom(), layer.integers(axes)}, value).set("keepdims", i64{0});
  } else {
    const char* const type = p.operation() == caffe::ReductionParameter::MEAN    ? "ReduceMean"
                             : p.operation() == caffe::ReductionParameter::SUMSQ ? "ReduceSumSquare"
                                                                                 : "ReduceL1";
    layer.node(type, {layer.bottom()}, value).set("axes", axes).set("keepdims", i64{0});
  }
  layer.alias(layer.affine(value, p.coeff(), 0));
}
}  // namespace

void add_norm_layers(SayTable& table) {
  table["BatchNorm"] = say_batch_norm;
  table["Scale"] = say_scale;
  table["Bias"] = say_bias;
  table["InnerProduct"] = say_inner_product;
  table["Embed"] = say_embed;
  table["MVN"] = say_mvn;
  table["Normalize"] = say_normalize;
  table["Reduction"] = say_reduction;
}

}  // namespace cortado
