#include <algorithm>

#include "app/onnx/layer_export.h"

// Layers that arrange values.
namespace cortado {
namespace {

void say_parameter(LayerExport& layer) { layer.alias(layer.blob(0)); }

void say_concat(LayerExport& layer) {
  const auto& p = layer.text().concat_param();
  const i64 axis = p.has_concat_dim() ? i64{p.concat_dim()} : layer.axis(p.axis());
  layer.node("Concat", layer.bottom_names, layer.top()).set("axis", axis);
}

void say_slice(LayerExport& layer) {
  const auto& p = layer.text().slice_param();
  const i64 axis = p.has_slice_dim() ? i64{p.slice_dim()} : layer.axis(p.axis());
  std::vector<i64> parts;
  for (std::size_t t = 0; t < layer.tops(); ++t) parts.push_back(layer.out(t)[static_cast<std::size_t>(axis)]);
  layer.node("Split", {layer.bottom(), layer.integers(parts)}, layer.top_names).set("axis", axis);
}

void say_shape(LayerExport& layer) {
  Shape flat{layer.in().empty() ? 1 : layer.in()[0], 1};
  for (std::size_t d = 1; d < layer.in().size(); ++d) flat[1] *= layer.in()[d];
  if (layer.out() == flat)
    layer.node("Flatten", {layer.bottom()}, layer.top()).set("axis", i64{1});
  else
    layer.node("Reshape", {layer.bottom(), layer.integers(layer.out())}, layer.top());
}

void say_permute(LayerExport& layer) {
  const auto& given = layer.text().permute_param().order();
  std::vector<i64> order(given.begin(), given.end());
  for (i64 d = 0; d < static_cast<i64>(layer.in().size()); ++d)
    if (std::find(given.begin(), given.end(), d) == given.end()) order.push_back(d);
  layer.node("Transpose", {layer.bottom()}, layer.top()).set("perm", order);
}

void say_shuffle_channel(LayerExport& layer) {
  const i64 groups = layer.text().shuffle_channel_param().group(), channels = layer.in()[1];
  const i64 rest = layer.count_in() / (layer.in()[0] * channels);
  const Shape rows{layer.in()[0], groups, channels / groups, rest};
  const std::string cut = layer.inner("Reshape", {layer.bottom(), layer.integers(rows)}), turned = layer.inner_name();
  layer.node("Transpose", {cut}, turned).set("perm", std::vector<i64>{0, 2, 1, 3});
  layer.node("Reshape", {turned, layer.integers(layer.out())}, layer.top());
}

void say_tile(LayerExport& layer) {
  const auto& p = layer.text().tile_param();
  std::vector<i64> times(layer.in().size(), 1);
  times[static_cast<std::size_t>(layer.axis(p.axis()))] = p.tiles();
  layer.node("Tile", {layer.bottom(), layer.integers(times)}, layer.top());
}

void say_crop(LayerExport& layer) {
  const auto& p = layer.text().crop_param();
  std::vector<i64> axes, begin, end;
  for (i64 d = layer.axis(p.axis()); d < static_cast<i64>(layer.in().size()); ++d) {
    const int which = p.offset_size() == 1 ? 0 : static_cast<int>(axes.size());
    begin.push_back(p.offset_size() == 0 ? 0 : i64{p.offset(which)});
    end.push_back(begin.back() + layer.out()[static_cast<std::size_t>(d)]);
    axes.push_back(d);
  }
  layer.node("Slice", {layer.bottom(), layer.integers(begin), layer.integers(end), layer.integers(axes)}, layer.top());
}

/// Of equal values the later place is Caffe's.
void say_arg_max(LayerExport& layer) {
  const auto& p = layer.text().argmax_param();
  if (p.top_k() > 1) layer.cannot("top_k above 1 has no counterpart", "end the net before it");
  if (!p.has_axis() && p.out_max_val())
    layer.cannot("places and values in one top have no counterpart", "give an axis");
  std::string value = layer.bottom();
  if (!p.has_axis()) value = layer.inner("Flatten", {value});  // axis 1
  const i64 axis = p.has_axis() ? layer.axis(p.axis()) : 1;
  if (p.out_max_val()) {
    layer.node("ReduceMax", {value}, layer.top()).set("axes", std::vector<i64>{axis});
    return;
  }
  const std::string place = layer.inner_name(), number = layer.inner_name();
  layer.node("ArgMax", {value}, place).set("axis", axis).set("select_last_index", i64{1});
  layer.node("Cast", {place}, number).set("to", i64{onnx::TensorProto::FLOAT});
  const Shape shape = p.has_axis() ? layer.out() : Shape{layer.in()[0], 1};
  layer.alias(layer.reshaped(number, shape, layer.out()));
}

void say_batch_reindex(LayerExport& layer) {
  const std::string numbers = layer.inner_name();
  layer.node("Cast", {layer.bottom(1)}, numbers).set("to", i64{onnx::TensorProto::INT64});
  layer.node("Gather", {layer.bottom(0), numbers}, layer.top()).set("axis", i64{0});
}
}  // namespace

void add_shape_layers(SayTable& table) {
  table["Parameter"] = say_parameter;
  table["Concat"] = say_concat;
  table["Slice"] = say_slice;
  table["Flatten"] = table["Reshape"] = say_shape;
  table["Permute"] = say_permute;
  table["ShuffleChannel"] = say_shuffle_channel;
  table["Tile"] = say_tile;
  table["Crop"] = say_crop;
  table["ArgMax"] = say_arg_max;
  table["BatchReindex"] = say_batch_reindex;
}

}  // namespace cortado
