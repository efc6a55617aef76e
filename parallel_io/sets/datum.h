#pragma once
#include <functional>

#include "parallel_io/sets/data_set.h"

namespace caffe {
class Datum;
}

namespace cortado {

/// Names a sample, for messages.
using Where = std::function<std::string()>;

/// The Datum that `count` bytes hold. Throws FileError.
void parse_datum(const void* bytes, std::size_t count, const Where& where, caffe::Datum& datum);

/// How a set of Datum messages stores its samples, told by its first one: bytes, floats, or encoded images, which are
/// to be decoded to `channels` (0: as many as it has). Throws FileError; so where its shape is not that of its values.
DataSet::Field field_of(const caffe::Datum& first, const Where& where, int channels);

/// The values of a Datum as they are stored; they live as long as it does.
struct DatumValues {
  const void* data;
  i64 bytes;
};
/// Throws FileError if they are not what `field` says; numbers may have another shape if `any_shape`.
DatumValues values_of(const caffe::Datum& datum, const DataSet::Field& field, const Where& where,
                      bool any_shape = false);

}  // namespace cortado
