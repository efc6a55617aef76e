#include "parallel_io/feed/transformer.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/formats/blob_proto.h"
#include "core/formats/prototxt.h"
#include "parallel_io/feed/augmentation.h"

namespace cortado {
namespace {
constexpr std::uint8_t no_label = 255;  // of the pixels around label images
}

Mean read_mean(const BatchRequest& request, i64 channels) {
  const auto& t = *request.transform;
  if (t.has_mean_file() && t.mean_value_size() > 0)
    throw ConfigError(request.source, "transform_param has both mean_file and mean_value", "give one of them");
  Mean mean;
  if (t.has_mean_file()) {
    caffe::BlobProto proto;
    read_binary(t.mean_file(), proto);
    mean.image = values_of(proto, t.mean_file());
    mean.shape = shape_of(proto);
    while (mean.shape.size() > 3 && mean.shape[0] == 1) mean.shape.erase(mean.shape.begin());
  }
  if (t.mean_value_size() > 1 && t.mean_value_size() != channels)
    throw ConfigError(
        request.source,
        std::to_string(t.mean_value_size()) + " mean_values for " + std::to_string(channels) + " channels",
        "give one, or one for each");
  for (i64 c = 0; c < (t.mean_value_size() > 0 ? channels : 0); ++c)
    mean.channel.push_back(t.mean_value(t.mean_value_size() == 1 ? 0 : static_cast<int>(c)));
  return mean;
}

Transformer::Transformer(const DataSet::Field& field, const BatchRequest& request, bool is_image)
    : field_(field),
      is_image_(is_image),
      training_(request.training),
      key_(random_bits(request.seed, 0x7472616E73ull)),
      parts_key_(random_bits(request.seed, 0x7061727473ull)),
      colors_key_(random_bits(request.seed, 0x636F6C6F7273ull)) {
  shape_ = field.sample_shape;
  const caffe::TransformationParameter* const t = request.transform;
  if (!is_image_) {
    set_labels(request);
    return;
  }
  const bool augmented = t != nullptr && (t->has_random_resized_crop() || t->has_color_jitter());
  const bool wanted = t != nullptr && (augmented || t->crop_size() > 0 || t->pad() > 0 || t->mirror() ||
                                       t->has_mean_file() || t->mean_value_size() > 0);
  if (shape_.size() != 3) {
    if (wanted)
      throw ConfigError(request.source, "samples have shape " + to_string(shape_) + ", which is no image",
                        "leave crop, mirror and mean out of transform_param");
    shape_ = {1, 1, count_of(field.sample_shape)};
  }
  channels_ = shape_[0];
  if (field.stored == Stored::encoded && request.images.height > 0) {
    size_ = {request.images.height, request.images.width, request.images.antialias};
    check_size(size_, request.source);
    shape_[1] = size_.height;
    shape_[2] = size_.width;
  }
  height_ = shape_[1];
  width_ = shape_[2];
  if (t != nullptr) {
    scale_ = t->scale();
    mirror_ = t->mirror();
    crop_ = t->crop_size();
    pad_ = t->pad();
    check_augmentation(*t, channels_, request.source);
    if (augmented && field.stored == Stored::float32)
      throw ConfigError(request.source, "holds floats; random_resized_crop and color_jitter take images of bytes");
    if (training_ && t->has_random_resized_crop()) parts_ = t->random_resized_crop();
    if (training_ && t->has_color_jitter()) colors_ = t->color_jitter();
    if (!parts_ && crop_ > std::min(height_, width_) + 2 * pad_)
      throw ConfigError(request.source, "crop_size " + std::to_string(crop_) + " is larger than the first image, " +
                                            std::to_string(width_) + " x " + std::to_string(height_));
    mean_ = read_mean(request, channels_);
    if (!mean_.image.empty() && static_cast<i64>(mean_.image.size()) != channels_ * height_ * width_)
      throw FileError(t->mean_file(), "has " + std::to_string(mean_.image.size()) + " values, images have " +
                                          to_string(Shape{channels_, height_, width_}));
  }
  shape_ = crop_ > 0 ? Shape{channels_, crop_, crop_} : field.sample_shape.size() == 3 ? shape_ : field.sample_shape;
}

/// Images of labels are cropped and mirrored as the images are, and stay what they are.
void Transformer::set_labels(const BatchRequest& request) {
  if (field_.stored != Stored::encoded) return;
  if (request.images.height > 0) {
    size_ = {request.images.height, request.images.width, request.images.antialias};
    shape_[1] = size_.height;
    shape_[2] = size_.width;
  }
  height_ = shape_[1];
  width_ = shape_[2];
  if (request.transform == nullptr) return;
  mirror_ = request.transform->mirror();
  crop_ = request.transform->crop_size();
  pad_ = request.transform->pad();
  if (training_ && request.transform->has_random_resized_crop()) parts_ = request.transform->random_resized_crop();
  if (crop_ > 0) shape_ = {1, crop_, crop_};
}

Transformer::Place Transformer::place_of(i64 height, i64 width, i64 position) const {
  const auto draw = [&](std::uint64_t what, i64 below) {
    return static_cast<i64>(random_bits(key_, static_cast<std::uint64_t>(position) * 3 + what) %
                            static_cast<std::uint64_t>(below));
  };
  Place place{0, 0, mirror_ && draw(0, 2) == 1};
  if (crop_ == 0) return place;
  const i64 down = height + 2 * pad_ - crop_, across = width + 2 * pad_ - crop_;
  place.row = (training_ ? draw(1, down + 1) : down / 2) - pad_;
  place.column = (training_ ? draw(2, across + 1) : across / 2) - pad_;
  return place;
}

template <class T>
std::vector<T> Transformer::padded(const T* values, i64 height, i64 width, const Place& place) const {
  std::vector<T> crop(static_cast<std::size_t>(channels_ * crop_ * crop_), static_cast<T>(is_image_ ? 0 : no_label));
  const i64 first = std::max<i64>(0, -place.column), end = std::min(crop_, width - place.column);
  for (i64 c = 0; c < channels_; ++c)
    for (i64 y = std::max<i64>(0, -place.row); y < std::min(crop_, height - place.row); ++y)
      if (first < end)
        std::copy_n(values + (c * height + place.row + y) * width + place.column + first, end - first,
                    crop.data() + (c * crop_ + y) * crop_ + first);
  return crop;
}

template <class T>
void Transformer::transform(const T* values, bool backwards, i64 height, i64 width, i64 position, float* to) const {
  Place place = place_of(height, width, position);
  std::vector<T> surrounded;
  if (pad_ > 0) {
    surrounded = padded(values, height, width, place);
    values = surrounded.data();
    height = width = crop_;
    place.row = place.column = 0;
  }
  const i64 rows = crop_ > 0 ? crop_ : height, columns = crop_ > 0 ? crop_ : width;
  const auto row_of = [&](i64 c, i64 y) {
    return values + ((backwards ? channels_ - 1 - c : c) * height + place.row + y) * width + place.column;
  };
  if (colors_) {
    for (i64 c = 0; c < channels_; ++c)
      for (i64 y = 0; y < rows; ++y) std::copy_n(row_of(c, y), columns, to + (c * rows + y) * columns);
    jitter(position, rows * columns, to);
  }
  for (i64 c = 0; c < channels_; ++c) {
    const float channel_mean = mean_.channel.empty() ? 0 : mean_.channel[static_cast<std::size_t>(c)];
    for (i64 y = 0; y < rows; ++y) {
      float* const row = to + (c * rows + y) * columns;
      const auto subtract_mean = [&](const auto* from) {
        if (mean_.image.empty()) {
          for (i64 x = 0; x < columns; ++x) row[x] = (static_cast<float>(from[x]) - channel_mean) * scale_;
        } else {
          const float* const mean = mean_.image.data() + (c * height + place.row + y) * width + place.column;
          for (i64 x = 0; x < columns; ++x) row[x] = (static_cast<float>(from[x]) - mean[x]) * scale_;
        }
      };
      if (colors_)
        subtract_mean(row);
      else
        subtract_mean(row_of(c, y));
      if (place.mirrored) std::reverse(row, row + columns);
    }
  }
}

void Transformer::jitter(i64 position, i64 pixels, float* image) const {
  const auto changes = draw_colors(*colors_, random_bits(colors_key_, static_cast<std::uint64_t>(position)));
  change_colors(changes, channels_, pixels, image);
}

void Transformer::make(const std::uint8_t* values, bool backwards, i64 height, i64 width, i64 position,
                       float* to) const {
  if (!parts_) return transform(values, backwards, height, width, position, to);
  const int rows = static_cast<int>(height), columns = static_cast<int>(width), size = static_cast<int>(crop_);
  const auto key = random_bits(parts_key_, static_cast<std::uint64_t>(position));
  const Image part = cut(values, static_cast<int>(channels_), rows, columns, draw_part(*parts_, rows, columns, key));
  const Image resized = is_image_ ? resize(part, {size, size, true}) : resize_labels(part, {size, size});
  transform(resized.values.data(), backwards, crop_, crop_, position, to);
}

/// For a sample of a stored image, channels x height x width.
float* Transformer::room_for(const Shape& image, const std::function<std::string()>& where, const Room& room) const {
  const i64 height = image[1], width = image[2];
  const auto size = [](i64 h, i64 w) { return std::to_string(w) + " x " + std::to_string(h); };
  if (!parts_ && crop_ > std::min(height, width) + 2 * pad_)
    throw FileError(where(), "has " + size(height, width) + " pixels, fewer than crop_size " + std::to_string(crop_),
                    "enlarge it, or give a smaller crop_size");
  if (!mean_.image.empty() && (height != height_ || width != width_))
    throw FileError(where(), "has " + size(height, width) + " pixels, the mean image " + size(height_, width_),
                    "give mean_value instead of mean_file, or new_height and new_width");
  if (image == Shape{channels_, height_, width_}) return room(shape_);
  return room(crop_ > 0 ? shape_ : image);
}

void Transformer::operator()(const StoredSample& sample, const std::function<std::string()>& where,
                             const Room& room) const {
  if (field_.stored == Stored::encoded) {
    const auto count = static_cast<std::size_t>(sample.count);
    const Image image = is_image_ ? decode_image(sample.bytes, count, where(), static_cast<int>(channels_), size_)
                                  : resize_labels(decode_labels(sample.bytes, count, where()), size_);
    float* const to = room_for({channels_, image.height, image.width}, where, room);
    // A decoded image is red, green, blue.
    return make(image.values.data(), channels_ == 3, image.height, image.width, sample.position, to);
  }
  if (!is_image_) {
    float* const to = room(sample.shape != nullptr ? *sample.shape : shape_);
    if (field_.stored == Stored::float32)
      std::memcpy(to, sample.bytes, static_cast<std::size_t>(sample.count));
    else
      std::copy_n(sample.bytes, sample.count, to);
    return;
  }
  Shape image{channels_, height_, width_};
  if (sample.shape != nullptr && *sample.shape != field_.sample_shape) {
    image = *sample.shape;
    if (image.size() != 3 || image[0] != channels_)
      throw FileError(where(), "has shape " + to_string(image) + ", sample 0 has " + to_string(field_.sample_shape),
                      "only heights and widths may differ");
  }
  float* const to = room_for(image, where, room);
  if (field_.stored == Stored::float32)
    transform(reinterpret_cast<const float*>(sample.bytes), false, image[1], image[2], sample.position, to);
  else
    make(sample.bytes, false, image[1], image[2], sample.position, to);
}

}  // namespace cortado
