#include <algorithm>
#include <limits>

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

std::string as_float(LayerExport& layer, const std::string& value) {
  const std::string number = layer.inner_name();
  layer.node("Cast", {value}, number).set("to", i64{onnx::TensorProto::FLOAT});
  return number;
}

/// Values along an axis, `axis` of `extent`, of which the `most` largest are asked for.
struct Row {
  std::string value;
  i64 axis, extent, most;
};

/// Their places, largest value first. Of equal values the later place is Caffe's.
std::string places_of_largest(LayerExport& layer, const Row& row) {
  if (row.most == 1) {
    const std::string place = layer.inner_name();
    layer.node("ArgMax", {row.value}, place).set("axis", row.axis).set("select_last_index", i64{1});
    return as_float(layer, place);
  }
  constexpr i64 before_all = std::numeric_limits<i64>::min();
  const std::string backward =  // for TopK takes the earlier place
      layer.inner("Slice", {row.value, layer.integers({-1}), layer.integers({before_all}), layer.integers({row.axis}),
                            layer.integers({-1})});
  const std::string values = layer.inner_name(), places = layer.inner_name();
  layer.node("TopK", {backward, layer.integers({row.most})}, {values, places}).set("axis", row.axis);
  return layer.inner("Sub", {layer.constant(static_cast<float>(row.extent - 1)), as_float(layer, places)});
}

std::string largest_values(LayerExport& layer, const Row& row) {
  const std::string values = layer.inner_name();
  if (row.most == 1)
    layer.node("ReduceMax", {row.value}, values).set("axes", std::vector<i64>{row.axis});
  else
    layer.node("TopK", {row.value, layer.integers({row.most})}, {values, layer.inner_name()}).set("axis", row.axis);
  return values;
}

void say_arg_max(LayerExport& layer) {
  const auto& p = layer.text().argmax_param();
  const i64 axis = p.has_axis() ? layer.axis(p.axis()) : 1;
  const Row row{p.has_axis() ? layer.bottom() : layer.inner("Flatten", {layer.bottom()}), axis,
                p.has_axis() ? layer.in()[static_cast<std::size_t>(axis)] : layer.count_in() / layer.in()[0],
                i64{p.top_k()}};
  if (p.has_axis()) {
    layer.alias(p.out_max_val() ? largest_values(layer, row) : places_of_largest(layer, row));
    return;
  }
  std::string both = places_of_largest(layer, row);
  if (p.out_max_val()) {
    const std::string values = largest_values(layer, row), joined = layer.inner_name();
    layer.node("Concat", {both, values}, joined).set("axis", i64{1});
    both = joined;
  }
  layer.node("Reshape", {both, layer.integers(layer.out())}, layer.top());
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
