#include "parallel_io/sets/datum.h"

#include <climits>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/tensor/blob.h"
#include "parallel_io/sets/image.h"

namespace cortado {
namespace {
Shape shape_of(const caffe::Datum& datum) { return {datum.channels(), datum.height(), datum.width()}; }

void check_values(const caffe::Datum& datum, const Where& where) {
  const auto count = counted(shape_of(datum));
  const bool floats = datum.data().empty() && datum.float_data_size() > 0;
  const auto held = floats ? i64{datum.float_data_size()} : static_cast<i64>(datum.data().size());
  if (held == 0) throw FileError(where(), "is a Datum without values");
  if (count != held)
    throw FileError(where(),
                    "is a Datum of " + std::to_string(held) + " values for the shape " + to_string(shape_of(datum)));
}
}  // namespace

void parse_datum(const void* bytes, std::size_t count, const Where& where, caffe::Datum& datum) {
  if (count > INT_MAX || !datum.ParseFromArray(bytes, static_cast<int>(count)))
    throw FileError(where(), "is not a Datum");
}

DataSet::Field field_of(const caffe::Datum& first, const Where& where, int channels) {
  if (!first.encoded()) check_values(first, where);
  DataSet::Field field{"data", shape_of(first), Stored::uint8};
  if (first.encoded()) {
    field.stored = Stored::encoded;
    const Image image = decode_image(first.data().data(), first.data().size(), where(), channels);
    field.sample_shape = {image.channels, image.height, image.width};
  } else if (first.data().empty() && first.float_data_size() > 0) {
    field.stored = Stored::float32;
  }
  return field;
}

DatumValues values_of(const caffe::Datum& datum, const DataSet::Field& field, const Where& where, bool any_shape) {
  const bool encoded = field.stored == Stored::encoded;
  DatumValues values{datum.data().data(), static_cast<i64>(datum.data().size())};
  if (field.stored == Stored::float32)
    values = {datum.float_data().data(), static_cast<i64>(datum.float_data_size()) * 4};
  const auto bytes_of = [&](i64 count) { return count * (field.stored == Stored::float32 ? 4 : 1); };
  if (datum.encoded() != encoded)
    throw FileError(where(), "is an image file or numbers, sample 0 is the other one", "all must be of one kind");
  if (encoded) return values;
  const Shape shape = shape_of(datum);
  if (!any_shape && shape != field.sample_shape)
    throw FileError(where(), "has shape " + to_string(shape) + ", sample 0 has " + to_string(field.sample_shape),
                    "give all samples one shape, or say batch_size: 1");
  if (any_shape) check_values(datum, where);
  if (values.bytes != bytes_of(count_of(shape)))
    throw FileError(where(), "holds other values than sample 0", "all must be bytes, or all floats");
  return values;
}

}  // namespace cortado
