#include "parallel_io/sets/datum.h"

#include <cstring>

#include "core/formats/caffe.pb.h"
#include "parallel_io/feed/transformer.h"
#include "parallel_io/sets/image.h"
#include "tests/fuzz/target.h"

namespace cortado::fuzz {
namespace {
std::string where() { return "sample"; }

/// As a set's only sample, cropped and mirrored.
void read_alone(const caffe::Datum& datum) {
  const DataSet::Field field = field_of(datum, where, 0);
  const DatumValues values = values_of(datum, field, where);
  if (field.stored == Stored::encoded) return;  // images are another target
  Bytes bytes(static_cast<std::size_t>(field.sample_bytes()));
  std::memcpy(bytes.data(), values.data, static_cast<std::size_t>(values.bytes));
  caffe::TransformationParameter transform;
  transform.set_crop_size(2);
  transform.set_mirror(true);
  BatchRequest request;
  request.transform = &transform;
  const Transformer transformer(field, request, true);
  std::vector<float> sample(static_cast<std::size_t>(count_of(transformer.sample_shape())));
  transformer({bytes.data(), values.bytes, 0}, where, [&](const Shape&) { return sample.data(); });
}

void run(const std::uint8_t* data, std::size_t size) {
  expect_errors_only([&] {
    caffe::Datum datum;
    parse_datum(data, size, where, datum);
    for (const auto& field :
         {DataSet::Field{"data", {3, 4, 5}, Stored::uint8}, DataSet::Field{"data", {3, 4, 5}, Stored::float32},
          DataSet::Field{"data", {3, 4, 5}, Stored::encoded}})
      expect_errors_only([&] { values_of(datum, field, where); });
    read_alone(datum);
  });
}

std::vector<std::string> seeds() {
  caffe::Datum bytes, floats, encoded;
  for (caffe::Datum* const datum : {&bytes, &floats}) {
    datum->set_channels(3);
    datum->set_height(4);
    datum->set_width(5);
    datum->set_label(7);
  }
  bytes.set_data(std::string(60, 'x'));
  for (int i = 0; i < 60; ++i) floats.add_float_data(static_cast<float>(i) / 4);
  const Image picture{1, 4, 5, std::vector<std::uint8_t>(20, 128)};
  const auto png = encode_png(picture);
  encoded.set_data(png.data(), png.size());
  encoded.set_encoded(true);
  encoded.set_label(-1);
  return {bytes.SerializeAsString(), floats.SerializeAsString(), encoded.SerializeAsString()};
}
}  // namespace

Target datum() { return {"datum", run, seeds}; }

}  // namespace cortado::fuzz
