#pragma once
#include <functional>

#include "parallel_io/sets/data_set.h"

namespace caffe {
class Datum;
}

namespace cortado {

/// Names a sample, for messages.
using Where = std::function<std::string()>;

/// Parses the Datum in `count` bytes. Throws FileError.
void parse_datum(const void* bytes, std::size_t count, const Where& where, caffe::Datum& datum);

/// The stored form of a set of Datum messages, as its first one has it: bytes, floats, or encoded images. Encoded
/// images are decoded to `channels` (0 means as many as the image has). Throws FileError, also where the shape does not
/// fit the values.
DataSet::Field field_of(const caffe::Datum& first, const Where& where, int channels);

/// The stored values of a Datum; they live as long as the Datum.
struct DatumValues {
  const void* data;
  i64 bytes;
};
/// Returns a Datum's values. Throws FileError if they differ from `field`; `any_shape` allows numbers of another shape.
DatumValues values_of(const caffe::Datum& datum, const DataSet::Field& field, const Where& where,
                      bool any_shape = false);

}  // namespace cortado
