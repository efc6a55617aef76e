#include "parallel_io/sets/lmdb_set.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "parallel_io/sets/datum.h"

namespace cortado {

LmdbSet::LmdbSet(const std::string& path, const OpenOptions& options)
    : path_(path), file_(kind_of(path) == FileKind::folder ? path + "/data.mdb" : path), any_shape_(options.any_shape) {
  samples_ = file_.entries();
  if (samples_ == 0) throw FileError(path, "holds no samples");
  LmdbFile::Cursor cursor(file_);
  cursor.go(0);
  const Where place = [&] { return where(0); };
  caffe::Datum first;
  const auto value = cursor.value();
  parse_datum(value.data, value.bytes, place, first);
  fields_ = {field_of(first, place, options.channels), {"label", {}, Stored::float32}};
}

std::string LmdbSet::where(i64 sample) const {
  LmdbFile::Cursor cursor(file_);
  cursor.go(sample);
  return path_ + ", sample " + std::to_string(sample) + " (key '" + cursor.key() + "')";
}

void LmdbSet::read(const i64* indices, i64 count, std::vector<Values>& to) const {
  to.resize(2);
  const Field& field = fields_[0];
  std::vector<i64> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), i64{0});
  const bool of_any_size = field.stored == Stored::encoded || any_shape_;
  // Images of unknown sizes go one after another; others are read in the order in which they are stored.
  if (!of_any_size) std::sort(order.begin(), order.end(), [&](i64 a, i64 b) { return indices[a] < indices[b]; });
  to[0].begin.assign(of_any_size ? 1 : 0, 0);
  to[0].shapes.clear();
  to[0].bytes.resize(of_any_size ? 0 : static_cast<std::size_t>(count * field.sample_bytes()));
  to[1].bytes.resize(static_cast<std::size_t>(count) * sizeof(float));
  LmdbFile::Cursor cursor(file_);
  caffe::Datum datum;
  i64 sample = 0;
  const Where place = [&] { return where(sample); };
  for (const i64 slot : order) {
    sample = indices[slot];
    cursor.go(sample);
    const auto value = cursor.value();
    parse_datum(value.data, value.bytes, place, datum);
    const DatumValues values = values_of(datum, field, place, any_shape_);
    if (of_any_size) {
      if (field.stored != Stored::encoded) to[0].shapes.push_back({datum.channels(), datum.height(), datum.width()});
      const auto* const from = static_cast<const std::uint8_t*>(values.data);
      to[0].bytes.insert(to[0].bytes.end(), from, from + values.bytes);
      to[0].begin.push_back(static_cast<i64>(to[0].bytes.size()));
    } else {
      std::memcpy(to[0].bytes.data() + slot * values.bytes, values.data, static_cast<std::size_t>(values.bytes));
    }
    const float label = exact_label(datum.label(), place);
    std::memcpy(to[1].bytes.data() + slot * 4, &label, 4);
  }
}

}  // namespace cortado
