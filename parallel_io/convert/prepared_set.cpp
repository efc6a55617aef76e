#include "parallel_io/convert/prepared_set.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/data/sample_order.h"
#include "parallel_io/sets/byte_sets.h"

namespace cortado {

PreparedSet::PreparedSet(std::unique_ptr<DataSet> from, const Preparation& preparation)
    : from_(std::move(from)), preparation_(preparation), workers_(process_cpus() - 1) {
  check_size(preparation.size, "convert");
  fields_ = from_->fields();
  samples_ = from_->samples();
  classes_ = from_->classes();
  Field& data = fields_[0];
  if (preparation.size.changes()) {
    if (data.stored != Stored::encoded) throw ConfigError("convert", "only encoded images can be resized or cropped");
    const ImageSides from_sides{static_cast<int>(data.sample_shape[1]), static_cast<int>(data.sample_shape[2])};
    const ImageSides sides = sides_of(from_sides, preparation.size, from_->where(0));
    data.sample_shape = {data.sample_shape[0], sides.height, sides.width};
  }
  if (data.stored == Stored::encoded && !preparation.decode) {
    if (preparation.to_float || preparation.rgb)
      throw ConfigError("convert", "images that stay encoded can be resized alone", "leave out --encoded");
    return;
  }
  if (preparation.rgb && (data.sample_shape.size() != 3 || data.sample_shape[0] != 3))
    throw ConfigError("convert", "only images with three channels have an order of colours");
  if (data.stored == Stored::encoded) data.stored = Stored::uint8;
  if (preparation.to_float) data.stored = Stored::float32;
}

i64 PreparedSet::source_of(i64 sample) const {
  if (!preparation_.shuffle) return sample;
  return SampleOrder(samples_, SampleOrder::Kind::shuffled, preparation_.seed)(sample);
}

void PreparedSet::read(const i64* indices, i64 count, std::vector<Values>& to) const {
  std::vector<i64> sources;
  for (i64 i = 0; i < count; ++i) sources.push_back(source_of(indices[i]));
  const Field &from = from_->fields()[0], &data = fields_[0];
  const bool encodes = data.stored == Stored::encoded && preparation_.size.changes();
  if (from.stored == data.stored && !preparation_.to_float && !preparation_.rgb && !encodes)
    return from_->read(sources.data(), count, to);
  std::vector<Values> values;
  from_->read(sources.data(), count, values);
  to.resize(values.size());
  if (encodes) {
    for (std::size_t f = 1; f < values.size(); ++f) to[f] = std::move(values[f]);
    to[0] = encode_again(values[0], indices, count);
    return;
  }
  for (std::size_t f = 1; f < values.size(); ++f) to[f] = std::move(values[f]);
  to[0].begin.clear();
  to[0].bytes.resize(static_cast<std::size_t>(count * data.sample_bytes()));
  const std::lock_guard<std::mutex> lock(mutex_);
  workers_.for_each(count, [&](i64 i) {
    const auto at = static_cast<std::size_t>(i);
    const bool fixed = values[0].begin.empty();
    const i64 begin = fixed ? i * from.sample_bytes() : values[0].begin[at];
    const i64 bytes = fixed ? from.sample_bytes() : values[0].begin[at + 1] - begin;
    prepare(values[0].bytes.data() + begin, bytes, indices[i], to[0].bytes.data() + i * data.sample_bytes());
  });
}

Values PreparedSet::encode_again(const Values& values, const i64* indices, i64 count) const {
  std::vector<std::vector<std::uint8_t>> images(static_cast<std::size_t>(count));
  const auto channels = static_cast<int>(fields_[0].sample_shape[0]);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    workers_.for_each(count, [&](i64 i) {
      const auto at = static_cast<std::size_t>(i);
      const auto bytes = static_cast<std::size_t>(values.begin[at + 1] - values.begin[at]);
      images[at] = encode_png(
          decode_image(values.bytes.data() + values.begin[at], bytes, where(indices[i]), channels, preparation_.size));
    });
  }
  Values encoded;
  encoded.begin = {0};
  for (const auto& image : images) encoded.begin.push_back(encoded.begin.back() + static_cast<i64>(image.size()));
  encoded.bytes.resize(static_cast<std::size_t>(encoded.begin.back()));
  for (std::size_t i = 0; i < images.size(); ++i)
    std::copy(images[i].begin(), images[i].end(), encoded.bytes.begin() + encoded.begin[i]);
  return encoded;
}

void PreparedSet::prepare(const std::uint8_t* from, i64 bytes, i64 sample, std::uint8_t* to) const {
  const Shape& shape = fields_[0].sample_shape;
  const Field& source = from_->fields()[0];
  Image image;
  if (source.stored == Stored::encoded) {
    image = decode_image(from, static_cast<std::size_t>(bytes), where(sample), static_cast<int>(shape[0]),
                         preparation_.size);
    if (image.height != shape[1] || image.width != shape[2])
      throw ConfigError(where(sample),
                        "has " + std::to_string(image.width) + " x " + std::to_string(image.height) +
                            " pixels, the first image has " + std::to_string(shape[2]) + " x " +
                            std::to_string(shape[1]),
                        preparation_.other_size_advice);
    if (shape[0] == 3 && !preparation_.rgb) swap_red_and_blue(image.values.data(), shape[1] * shape[2]);
  } else if (preparation_.rgb) {
    image.values.assign(from, from + bytes);
    swap_red_and_blue(image.values.data(), shape[1] * shape[2]);
  }
  if (!image.values.empty()) {
    from = image.values.data();
    bytes = static_cast<i64>(image.values.size());
  }
  if (!preparation_.to_float) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return;
  }
  const bool floats = source.stored == Stored::float32;
  for (i64 e = 0; e < count_of(shape); ++e) {
    float value = floats ? 0 : static_cast<float>(from[e]);
    if (floats) std::memcpy(&value, from + e * 4, 4);
    const auto at = static_cast<std::size_t>(e);
    value = (value - (preparation_.mean.empty() ? 0 : preparation_.mean[at])) * preparation_.scale;
    std::memcpy(to + e * 4, &value, 4);
  }
}

}  // namespace cortado
