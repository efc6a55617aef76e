#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "app/onnx/node_import.h"

// Constants that nodes compute of constants, as exporters write chains that compute shapes. All numbers are doubles
// meanwhile, which hold floats and sizes exactly.
namespace cortado {
namespace {
constexpr i64 most_folded = 1 << 26;  // elements: a weight that is turned is folded too
constexpr i64 most_made = 1 << 20;    // elements of what grows

/// A number as an integer, cut to what doubles hold exactly.
i64 whole_of(double value) {
  constexpr double most = 1LL << 53;
  return value == value ? static_cast<i64>(std::clamp(value, -most, most)) : 0;
}

struct Array {
  Shape shape;
  std::vector<double> values;
  bool is_integer = false;
};

Array array_of(const FixedTensor& constant) {
  Array array{constant.shape, {}, constant.is_integer};
  if (constant.is_integer)
    array.values.assign(constant.integers.begin(), constant.integers.end());
  else
    array.values.assign(constant.floats.begin(), constant.floats.end());
  return array;
}

FixedTensor constant_of(const Array& array) {
  FixedTensor constant;
  constant.shape = array.shape;
  constant.is_integer = array.is_integer;
  for (const double value : array.values)
    if (array.is_integer)
      constant.integers.push_back(whole_of(value));
    else
      constant.floats.push_back(static_cast<float>(value));
  return constant;
}

std::size_t stride_of(const Shape& shape, std::size_t axis) {
  std::size_t stride = 1;
  for (std::size_t d = axis + 1; d < shape.size(); ++d) stride *= static_cast<std::size_t>(shape[d]);
  return stride;
}

/// Takes places along an axis.
Array taken(const Array& from, std::size_t axis, const std::vector<i64>& places) {
  Array to{from.shape, {}, from.is_integer};
  to.shape[axis] = static_cast<i64>(places.size());
  const std::size_t inner = stride_of(from.shape, axis), size = static_cast<std::size_t>(from.shape[axis]);
  for (std::size_t outer = 0; outer * size * inner < from.values.size(); ++outer)
    for (const i64 place : places) {
      const auto first =
          from.values.begin() + static_cast<std::ptrdiff_t>((outer * size + static_cast<std::size_t>(place)) * inner);
      to.values.insert(to.values.end(), first, first + static_cast<std::ptrdiff_t>(inner));
    }
  return to;
}

Array gathered(NodeImport& node, const Array& from, const Array& which) {
  const auto axis = static_cast<std::size_t>(node.axis(node.integer("axis", 0)));
  std::vector<i64> places;
  for (const double value : which.values) places.push_back(node.axis(whole_of(value), from.shape[axis]));
  if (static_cast<i64>(places.size() * from.values.size()) > std::max<i64>(most_made, from.shape[axis] * most_made))
    node.cannot("it makes too much of constants");
  Array to = taken(from, axis, places);
  to.shape.erase(to.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  to.shape.insert(to.shape.begin() + static_cast<std::ptrdiff_t>(axis), which.shape.begin(), which.shape.end());
  return to;
}

Array sliced(NodeImport& node, Array array) {
  const auto begins = node.whole(1), ends = node.whole(2);
  std::vector<i64> axes, steps(begins.size(), 1);
  for (std::size_t i = 0; i < begins.size(); ++i) axes.push_back(static_cast<i64>(i));
  if (node.has(3)) axes = node.whole(3);
  if (node.has(4)) steps = node.whole(4);
  if (ends.size() != begins.size() || axes.size() != begins.size() || steps.size() != begins.size())
    node.cannot("its begins, ends, axes and steps do not fit together");
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const auto axis = static_cast<std::size_t>(node.axis(axes[i]));
    const i64 size = array.shape[axis], step = steps[i], back = step < 0 ? 1 : 0;
    const auto place = [&](i64 given, i64 least) {
      return std::clamp<i64>(given < 0 ? given + size : given, least, size - back);
    };
    if (step == 0 || std::abs(step) > size + 1) node.cannot("its steps mean nothing");
    std::vector<i64> places;
    const i64 begin = place(begins[i], 0), end = place(ends[i], -back);
    for (i64 p = begin; back == 1 ? p > end : p < end; p += step) places.push_back(p);
    array = taken(array, axis, places);
  }
  return array;
}

Array joined(NodeImport& node, const std::vector<Array>& all) {
  const auto axis = static_cast<std::size_t>(node.axis(node.integer("axis", 0)));
  Array to{all[0].shape, {}, all[0].is_integer};
  to.shape[axis] = 0;
  for (const Array& part : all) {
    Shape same = part.shape;
    if (same.size() != to.shape.size()) node.cannot("its inputs do not fit together");
    to.shape[axis] += same[axis];
    same[axis] = to.shape[axis];
    if (same != to.shape) node.cannot("its inputs do not fit together");
  }
  const i64 outer = count_of({to.shape.begin(), to.shape.begin() + static_cast<std::ptrdiff_t>(axis)});
  if (counted(to.shape).value_or(0) > most_folded) node.cannot("it makes too much of constants");
  for (i64 o = 0; o < outer; ++o)
    for (const Array& part : all) {
      const auto width = static_cast<std::ptrdiff_t>(part.values.size()) / outer;
      to.values.insert(to.values.end(), part.values.begin() + o * width, part.values.begin() + (o + 1) * width);
    }
  return to;
}

Array transposed(NodeImport& node, const Array& from) {
  std::vector<i64> order;
  for (i64 d = node.rank() - 1; d >= 0; --d) order.push_back(d);
  order = node.integers("perm", order);
  std::vector<i64> sorted = order, own;
  for (i64 d = 0; d < node.rank(); ++d) own.push_back(d);
  std::sort(sorted.begin(), sorted.end());
  if (sorted != own) node.cannot("its perm is no order of its input's axes");
  Array to{{}, std::vector<double>(from.values.size()), from.is_integer};
  std::vector<std::size_t> strides;  // in `from`, by axis of `to`
  for (const i64 d : order) {
    to.shape.push_back(from.shape[static_cast<std::size_t>(d)]);
    strides.push_back(stride_of(from.shape, static_cast<std::size_t>(d)));
  }
  for (std::size_t i = 0; i < to.values.size(); ++i) {
    std::size_t rest = i, at = 0;
    for (std::size_t d = to.shape.size(); d-- > 0;) {
      const auto size = static_cast<std::size_t>(to.shape[d]);
      at += rest % size * strides[d];
      rest /= size;
    }
    to.values[i] = from.values[at];
  }
  return to;
}

double computed(const std::string& type, double a, double b, bool whole) {
  if (type == "Add") return a + b;
  if (type == "Sub") return a - b;
  if (type == "Mul") return a * b;
  return whole ? (b == 0 ? 0 : std::trunc(a / b)) : a / b;
}

Array combined(NodeImport& node, const Array& a, const Array& b) {
  const Array& larger = a.values.size() >= b.values.size() ? a : b;
  const bool fit = a.shape == b.shape || a.values.size() == 1 || b.values.size() == 1;
  if (!fit || a.values.empty() || b.values.empty()) node.cannot("its constants have several shapes");
  Array to{larger.shape, {}, a.is_integer && b.is_integer};
  for (std::size_t i = 0; i < larger.values.size(); ++i)
    to.values.push_back(computed(node.type(), a.values[a.values.size() == 1 ? 0 : i],
                                 b.values[b.values.size() == 1 ? 0 : i], to.is_integer));
  return to;
}

Array with_axes(NodeImport& node, Array array) {
  std::vector<i64> axes = node.integers_of("axes", 1, {});
  const bool adds = node.type() == "Unsqueeze";
  const i64 rank = node.rank() + (adds ? static_cast<i64>(axes.size()) : 0);
  for (i64& axis : axes) axis = node.axis(axis, rank);
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) node.cannot("it names an axis twice");
  if (adds)
    for (const i64 axis : axes) array.shape.insert(array.shape.begin() + axis, 1);
  else if (axes.empty())
    array.shape.erase(std::remove(array.shape.begin(), array.shape.end(), 1), array.shape.end());
  else
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) array.shape.erase(array.shape.begin() + *axis);
  if (count_of(array.shape) != static_cast<i64>(array.values.size())) node.cannot("it drops an axis that is not 1");
  return array;
}

Array in_shape(NodeImport& node, Array array) {
  Shape shape = node.whole(1);
  Shape given;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0 && d < array.shape.size()) shape[d] = array.shape[d];
    if (shape[d] > 0) given.push_back(shape[d]);
  }
  const i64 known = count_of(given);
  for (i64& size : shape)
    if (size == -1) size = known > 0 ? static_cast<i64>(array.values.size()) / known : 0;
  array.shape = shape;
  if (counted(shape) != static_cast<i64>(array.values.size())) node.cannot("its shape does not fit its input");
  return array;
}

/// The result of a node of constants; false where there is no such operation.
bool compute(NodeImport& node, const std::vector<Array>& all, Array& to) {
  const std::string& type = node.type();
  to = all[0];
  if (type == "Identity") return true;
  if (type == "Gather" && all.size() == 2) return to = gathered(node, all[0], all[1]), true;
  if (type == "Slice") return to = sliced(node, all[0]), true;
  if (type == "Concat") return to = joined(node, all), true;
  if (type == "Transpose") return to = transposed(node, all[0]), true;
  if (type == "Unsqueeze" || type == "Squeeze") return to = with_axes(node, all[0]), true;
  if (type == "Reshape") return to = in_shape(node, all[0]), true;
  if (type == "Add" || type == "Sub" || type == "Mul" || type == "Div")
    return to = combined(node, all[0], all[1]), true;
  if (type == "Cast") {
    const i64 kind = node.integer("to", 0);
    to.is_integer = kind != onnx::TensorProto::FLOAT && kind != onnx::TensorProto::DOUBLE;
    if (to.is_integer)
      for (double& value : to.values) value = std::trunc(value);
    return true;
  }
  return false;
}

/// The values of a Constant node.
FixedTensor held(NodeImport& node) {
  FixedTensor constant;
  if (const auto* const value = node.attribute("value")) return cortado::constant_of(value->t(), "of a Constant");
  for (const char* const name : {"value_float", "value_floats"})
    if (const auto* const value = node.attribute(name)) {
      constant.floats.assign(value->floats().begin(), value->floats().end());
      if (value->has_f()) constant.floats = {value->f()};
      if (!value->has_f()) constant.shape = {static_cast<i64>(constant.floats.size())};
      return constant;
    }
  for (const char* const name : {"value_int", "value_ints"})
    if (const auto* const value = node.attribute(name)) {
      constant.is_integer = true;
      constant.integers.assign(value->ints().begin(), value->ints().end());
      if (value->has_i()) constant.integers = {value->i()};
      if (!value->has_i()) constant.shape = {static_cast<i64>(constant.integers.size())};
      return constant;
    }
  node.cannot("it holds no numbers");
}

FixedTensor shape_of_input(NodeImport& node) {
  const i64 rank = node.rank();
  const auto place = [&](i64 given) { return std::clamp<i64>(given < 0 ? given + rank : given, 0, rank); };
  const i64 begin = place(node.integer("start", 0)), end = std::max(begin, place(node.integer("end", rank)));
  FixedTensor sizes;
  sizes.is_integer = true;
  sizes.integers.assign(node.shape().begin() + begin, node.shape().begin() + end);
  sizes.shape = {end - begin};
  return sizes;
}
}  // namespace

bool fold_node(NodeImport& node) {
  if (node.type() == "Constant") return node.result(held(node)), true;
  if (node.inputs() == 0 || !node.has(0)) return false;
  if (node.type() == "Shape") return node.result(shape_of_input(node)), true;
  for (std::size_t i = 0; i < node.inputs(); ++i)
    if (node.has(i) && (!node.in(i).is_constant() || count_of(node.shape(i)) > most_folded)) return false;
  std::vector<Array> all;
  for (std::size_t i = 0; i < node.inputs(); ++i)
    if (node.has(i)) all.push_back(array_of(*node.constant(i)));
  if (node.type() == "ConstantOfShape") {
    Array to{node.whole(0), {}, false};
    double value = 0;
    if (const auto* const given = node.attribute("value")) {
      const Array one = array_of(cortado::constant_of(given->t(), "of ConstantOfShape"));
      if (one.values.size() != 1) node.cannot("its value is no single number");
      value = one.values[0], to.is_integer = one.is_integer;
    }
    const auto count = counted(to.shape);
    if (!count || *count > most_made) node.cannot("its shape means nothing");
    to.values.assign(static_cast<std::size_t>(*count), value);
    node.result(constant_of(to));
    return true;
  }
  Array to;
  if (!compute(node, all, to)) return false;
  node.result(constant_of(to));
  return true;
}

}  // namespace cortado
