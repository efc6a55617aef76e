#include "core/formats/blob_proto.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"

namespace cortado {
namespace {
bool is_legacy(const caffe::BlobProto& proto) {
  return proto.has_num() || proto.has_channels() || proto.has_height() || proto.has_width();
}

template <class Floats, class Doubles>
std::vector<float> numbers(const caffe::BlobProto& proto, const Floats& floats, const Doubles& doubles,
                           const std::string& where) {
  std::vector<float> values;
  if (doubles.empty())
    values.assign(floats.begin(), floats.end());
  else
    std::transform(doubles.begin(), doubles.end(), std::back_inserter(values),
                   [](double v) { return static_cast<float>(v); });
  const Shape shape = shape_of(proto);
  if (counted(shape) != static_cast<i64>(values.size()))
    throw FileError(where, std::to_string(values.size()) + " values stored for shape " + to_string(shape),
                    "the file is damaged or was written by something else");
  return values;
}
}  // namespace

Shape shape_of(const caffe::BlobShape& shape) {
  Shape result(shape.dim().begin(), shape.dim().end());
  for (const i64 d : result)
    if (d < 0) throw ShapeError("", "dimension " + std::to_string(d) + " in a shape", "dimensions are 0 or more");
  return result;
}

Shape shape_of(const caffe::BlobProto& proto) {
  if (!is_legacy(proto)) return shape_of(proto.shape());
  return {proto.num(), proto.channels(), proto.height(), proto.width()};
}

std::vector<float> values_of(const caffe::BlobProto& proto, const std::string& where) {
  return numbers(proto, proto.data(), proto.double_data(), where);
}

std::vector<float> gradients_of(const caffe::BlobProto& proto, const std::string& where) {
  return numbers(proto, proto.diff(), proto.double_diff(), where);
}

bool fits(const caffe::BlobProto& proto, const Shape& shape) {
  const auto without_ones = [](Shape sizes) {
    sizes.erase(std::remove(sizes.begin(), sizes.end(), 1), sizes.end());
    return sizes;
  };
  return without_ones(shape_of(proto)) == without_ones(shape);
}

void to_proto(const Shape& shape, const std::vector<float>& values, const std::vector<float>& gradients,
              caffe::BlobProto& proto) {
  proto.Clear();
  for (const i64 d : shape) proto.mutable_shape()->add_dim(d);
  proto.mutable_data()->Assign(values.begin(), values.end());
  proto.mutable_diff()->Assign(gradients.begin(), gradients.end());
}

void to_proto(const Blob& blob, caffe::BlobProto& proto, bool with_diff) {
  to_proto(blob.shape(), blob.data_vector(), with_diff ? blob.diff_vector() : std::vector<float>(), proto);
}

}  // namespace cortado
