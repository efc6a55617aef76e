#include <algorithm>

#include "app/onnx/node_import.h"

// Operations that arrange values.
namespace cortado {
namespace {

/// The input's values in another shape. Samples stay apart.
void reshape_to(NodeImport& node, const Shape& out) {
  const Shape in = node.shape();
  if (count_of(in) != count_of(out))
    node.cannot("its input of shape " + to_string(in) + " cannot become " + to_string(out));
  if (in == out) return node.pass_on();
  if (in.empty() || out.empty() || in[0] != out[0])
    node.cannot("it mixes samples: " + to_string(in) + " becomes " + to_string(out), "keep the first axis");
  if (out.size() == 2) {
    node.add("Flatten", {0}, out);
    return;
  }
  auto& shape = *node.add("Reshape", {0}, out).mutable_reshape_param()->mutable_shape();
  shape.add_dim(0);
  for (std::size_t d = 1; d < out.size(); ++d) shape.add_dim(out[d]);
}

void take_flatten(NodeImport& node) {
  const i64 axis = node.axis(node.integer("axis", 1), node.rank() + 1);
  const Shape& in = node.shape();
  reshape_to(node, {count_of({in.begin(), in.begin() + axis}), count_of({in.begin() + axis, in.end()})});
}

void take_reshape(NodeImport& node) {
  Shape out = node.whole(1);
  const Shape& in = node.shape();
  const bool zero_copies = node.integer("allowzero", 0) == 0;
  std::size_t open = out.size();
  Shape given;
  for (std::size_t d = 0; d < out.size(); ++d) {
    if (out[d] == 0 && zero_copies) {
      if (d >= in.size()) node.cannot("it copies axis " + std::to_string(d) + ", which its input does not have");
      out[d] = in[d];
    }
    if (out[d] < -1 || (out[d] == -1 && open < out.size())) node.cannot("its shape has several open dimensions");
    if (out[d] == -1)
      open = d;
    else
      given.push_back(out[d]);
  }
  const i64 known = count_of(given);
  if (open < out.size()) out[open] = known > 0 ? count_of(in) / known : 0;
  reshape_to(node, out);
}

void take_squeeze(NodeImport& node) {
  std::vector<i64> axes = node.integers_of("axes", 1, {});
  for (i64& axis : axes) axis = node.axis(axis);
  Shape out;
  for (i64 d = 0; d < node.rank(); ++d) {
    const i64 size = node.shape()[static_cast<std::size_t>(d)];
    const bool goes = axes.empty() ? size == 1 && d > 0 : std::count(axes.begin(), axes.end(), d) > 0;
    if (!goes) out.push_back(size);
  }
  reshape_to(node, out);
}

void take_unsqueeze(NodeImport& node) {
  std::vector<i64> axes = node.integers_of("axes", 1, {});
  const i64 rank = node.rank() + static_cast<i64>(axes.size());
  for (i64& axis : axes) axis = node.axis(axis, rank);
  Shape out;
  auto next = node.shape().begin();
  for (i64 d = 0; d < rank; ++d) {
    const bool comes = std::count(axes.begin(), axes.end(), d) > 0;
    if (!comes && next == node.shape().end()) node.cannot("it names an axis twice");
    out.push_back(comes ? 1 : *next++);
  }
  reshape_to(node, out);
}

void take_transpose(NodeImport& node) {
  std::vector<i64> order;
  for (i64 d = node.rank() - 1; d >= 0; --d) order.push_back(d);
  order = node.integers("perm", order);
  std::vector<i64> sorted = order, own;
  for (i64 d = 0; d < node.rank(); ++d) own.push_back(d);
  std::sort(sorted.begin(), sorted.end());
  if (sorted != own) node.cannot("its perm is no order of its input's axes");
  if (order == own) return node.pass_on();
  // Behind a transposition that it undoes, it is what that one read.
  if (const auto* const maker = node.only_maker(0); maker != nullptr && maker->type() == "Permute") {
    std::vector<i64> both;
    for (const i64 d : order) both.push_back(maker->permute_param().order(static_cast<int>(d)));
    if (both == own) return node.undo_maker(*maker);
  }
  Shape out;
  for (const i64 d : order) out.push_back(node.shape()[static_cast<std::size_t>(d)]);
  auto& layer = node.add("Permute", {0}, out);
  for (const i64 d : order) layer.mutable_permute_param()->add_order(static_cast<std::uint32_t>(d));
}

void take_concat(NodeImport& node) {
  const i64 axis = node.axis(node.integer("axis", 1));
  const auto at = static_cast<std::size_t>(axis);
  Shape out = node.shape();
  out[at] = 0;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    Shape same = node.shape(i);
    if (same.size() != out.size()) node.cannot("its inputs have several numbers of axes");
    out[at] += same[at];
    same[at] = out[at];
    if (same != out) node.cannot("its inputs do not fit together");
    all.push_back(i);
  }
  if (axis == 0) node.cannot("it mixes samples");
  auto& layer = node.add("Concat", all, out);
  if (axis != 1) layer.mutable_concat_param()->set_axis(static_cast<int>(axis));
}

void take_split(NodeImport& node) {
  const auto at = static_cast<std::size_t>(node.axis(node.integer("axis", 0)));
  const auto parts = static_cast<i64>(node.outputs());
  const i64 size = node.shape()[at], each = (size + parts - 1) / parts;
  std::vector<i64> sizes(node.outputs(), each);
  sizes.back() = size - each * (parts - 1);
  sizes = node.integers_of("split", 1, sizes);
  i64 rest = sizes.size() == node.outputs() ? size : -1;
  for (const i64 part : sizes) rest = part > 0 && part <= rest ? rest - part : -1;
  if (rest != 0) node.cannot("its parts do not fit its input");
  if (at == 0) node.cannot("it takes samples apart");
  node.slice(at, sizes);
}

/// One axis cut, in steps of 1: the parts around it go to a Silence.
void take_slice(NodeImport& node) {
  const auto begins = node.whole(1), ends = node.whole(2);
  std::vector<i64> axes, steps(begins.size(), 1);
  for (std::size_t i = 0; i < begins.size(); ++i) axes.push_back(static_cast<i64>(i));
  if (node.has(3)) axes = node.whole(3);
  if (node.has(4)) steps = node.whole(4);
  if (begins.size() != 1 || ends.size() != 1 || axes.size() != 1 || steps != std::vector<i64>{1})
    node.cannot("it cuts several axes, or takes steps", "cut one axis");
  const auto at = static_cast<std::size_t>(node.axis(axes[0]));
  const i64 size = node.shape()[at];
  const auto place = [&](i64 given) { return std::clamp<i64>(given < 0 ? given + size : given, 0, size); };
  const i64 begin = place(begins[0]), end = place(ends[0]);
  if (begin >= end) node.cannot("nothing is left of its input");
  if (end - begin == size) return node.pass_on();
  if (at == 0) node.cannot("it takes samples apart");
  node.cut(at, begin, end);
}
}  // namespace

void take_shapes(TakeTable& table) {
  table["Flatten"] = take_flatten;
  table["Reshape"] = take_reshape;
  table["Squeeze"] = take_squeeze;
  table["Unsqueeze"] = take_unsqueeze;
  table["Transpose"] = take_transpose;
  table["Concat"] = take_concat;
  table["Split"] = take_split;
  table["Slice"] = take_slice;
}

}  // namespace cortado
