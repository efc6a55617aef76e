#include "app/onnx/model_file.h"

#include <cstring>
#include <filesystem>
#include <map>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/formats/prototxt.h"

namespace cortado {
namespace {
namespace fs = std::filesystem;

i64 bytes_of_type(int type) {
  switch (type) {
    case onnx::TensorProto::FLOAT:
    case onnx::TensorProto::INT32: return 4;
    case onnx::TensorProto::DOUBLE:
    case onnx::TensorProto::INT64: return 8;
    case onnx::TensorProto::BOOL: return 1;
    default: return 0;
  }
}

i64 number_in(const std::string& text, const std::string& where) {
  try {
    std::size_t end = 0;
    const i64 number = text.empty() ? 0 : std::stoll(text, &end);
    if (end == text.size() && number >= 0) return number;
  } catch (const std::logic_error&) {}  // no number, or a large one
  throw FileError(where, "'" + text + "' is no place in a file", "export the model again");
}

/// Brings the bytes of a tensor that lies in a file beside the model.
void bring(const std::string& model, onnx::TensorProto& tensor) {
  std::map<std::string, std::string> at;
  for (const auto& entry : tensor.external_data()) at[entry.key()] = entry.value();
  const std::string where = model + ": tensor '" + tensor.name() + "'";
  const fs::path location = fs::path(at["location"]).lexically_normal();
  if (location.empty() || location.is_absolute() || *location.begin() == "..")
    throw FileError(where, "lies in '" + at["location"] + "', which is not beside the model",
                    "put both into one folder and export again");
  const std::string file = (fs::path(folder_of(model)) / location).string();
  const auto count = counted({tensor.dims().begin(), tensor.dims().end()});
  const i64 offset = number_in(at["offset"], where), width = bytes_of_type(tensor.data_type());
  const Descriptor opened = open_regular(file);
  const i64 size = bytes_of(opened, file);
  if (!count || width == 0 || offset > size || *count > (size - offset) / width)
    throw FileError(file, "is too short for tensor '" + tensor.name() + "' of " + model, "copy it whole");
  std::string& bytes = *tensor.mutable_raw_data();
  bytes.resize(static_cast<std::size_t>(*count * width));
  if (read_some(opened, file, offset, *count * width, bytes.data()) != *count * width)
    throw FileError(file, "was cut while it was read");
  tensor.clear_data_location();
  tensor.clear_external_data();
}

template <class T, class To>
void copy_raw(const std::string& bytes, std::vector<To>& to) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  to.reserve(values.size());
  for (const T value : values) to.push_back(static_cast<To>(value));
}
}  // namespace

void read_onnx(const std::string& file, onnx::ModelProto& model) {
  read_binary(file, model);
  if (!model.has_graph() || model.opset_import_size() == 0)
    throw FileError(file, "is no ONNX model: it has no graph, or tells no opset", "export it again");
  const auto bring_external = [&](onnx::TensorProto& tensor) {
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL) bring(file, tensor);
  };
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) bring_external(tensor);
  for (auto& node : *model.mutable_graph()->mutable_node())
    for (auto& attribute : *node.mutable_attribute())
      if (attribute.has_t()) bring_external(*attribute.mutable_t());
}

FixedTensor constant_of(const onnx::TensorProto& tensor, const std::string& name) {
  const std::string where = "tensor '" + name + "'";
  FixedTensor constant;
  constant.shape.assign(tensor.dims().begin(), tensor.dims().end());
  const auto count = counted(constant.shape);
  const int type = tensor.data_type();
  constant.is_integer = type != onnx::TensorProto::FLOAT && type != onnx::TensorProto::DOUBLE;
  const std::string& raw = tensor.raw_data();
  if (bytes_of_type(type) == 0)
    throw FileError(where, "has type " + std::to_string(type) + "; float, double, int32, int64 and bool are read",
                    "export the model in float");
  if (!count || (!raw.empty() && static_cast<i64>(raw.size()) != *count * bytes_of_type(type)))
    throw FileError(where, "has other values than its shape says", "export the model again");
  switch (type) {
    case onnx::TensorProto::FLOAT:
      if (raw.empty()) constant.floats.assign(tensor.float_data().begin(), tensor.float_data().end());
      copy_raw<float>(raw, constant.floats);
      break;
    case onnx::TensorProto::DOUBLE:
      for (const double value : tensor.double_data()) constant.floats.push_back(static_cast<float>(value));
      copy_raw<double>(raw, constant.floats);
      break;
    case onnx::TensorProto::INT64:
      if (raw.empty()) constant.integers.assign(tensor.int64_data().begin(), tensor.int64_data().end());
      copy_raw<std::int64_t>(raw, constant.integers);
      break;
    case onnx::TensorProto::INT32:
      if (raw.empty()) constant.integers.assign(tensor.int32_data().begin(), tensor.int32_data().end());
      copy_raw<std::int32_t>(raw, constant.integers);
      break;
    default:
      if (raw.empty()) constant.integers.assign(tensor.int32_data().begin(), tensor.int32_data().end());
      copy_raw<std::int8_t>(raw, constant.integers);
  }
  const auto held = static_cast<i64>(constant.is_integer ? constant.integers.size() : constant.floats.size());
  if (held != *count) throw FileError(where, "has other values than its shape says", "export the model again");
  return constant;
}

}  // namespace cortado
