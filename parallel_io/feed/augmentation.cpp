#include "parallel_io/feed/augmentation.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/formats/caffe.pb.h"

namespace cortado {
namespace {
using ColorJitter = caffe::TransformationParameter_ColorJitter;
using ResizedCrop = caffe::TransformationParameter_ResizedCrop;
constexpr float white = 255;

/// Draws of one sample, one after another.
class Draws {
 public:
  explicit Draws(std::uint64_t key) : key_(key) {}
  double uniform(double from, double to) { return from + (to - from) * double{random_uniform(key_, next_++)}; }
  int below(int end) { return static_cast<int>(random_bits(key_, next_++) % static_cast<std::uint64_t>(end)); }

 private:
  const std::uint64_t key_;
  std::uint64_t next_ = 0;
};

int rounded(double value) { return static_cast<int>(std::nearbyint(value)); }

float clamped(float value) { return std::clamp(value, 0.0f, white); }

float grey_of(float red, float green, float blue) { return 0.2989f * red + 0.587f * green + 0.114f * blue; }

/// Turns a colour's hue by a part of the circle; values are from 0 to 1.
void turn_hue(float by, float& red, float& green, float& blue) {
  const float most = std::max({red, green, blue}), range = most - std::min({red, green, blue});
  if (range == 0) return;
  const float to_red = (most - red) / range, to_green = (most - green) / range, to_blue = (most - blue) / range;
  const float sixths = red == most ? to_blue - to_green : green == most ? 2 + to_red - to_blue : 4 + to_green - to_red;
  const float hue = sixths / 6 + by + 2, place = (hue - std::floor(hue)) * 6, sector = std::floor(place);
  const float part = place - sector, saturation = range / most;
  const float p = most * (1 - saturation), q = most * (1 - saturation * part), t = most * (1 - saturation * (1 - part));
  const std::array<std::array<float, 3>, 6> colours = {
      {{most, t, p}, {q, most, p}, {p, most, t}, {p, q, most}, {t, p, most}, {most, p, q}}};
  const auto& colour = colours[static_cast<std::size_t>(sector) % 6];
  red = colour[0];
  green = colour[1];
  blue = colour[2];
}

/// The planes of an image; a grey one has one plane for all.
struct Planes {
  i64 pixels;
  float *blue, *green, *red;
};

void blend(float factor, i64 count, float* values, float with) {
  for (i64 i = 0; i < count; ++i) values[i] = clamped(factor * values[i] + (1 - factor) * with);
}

float mean_grey(const Planes& image) {
  double sum = 0;
  for (i64 i = 0; i < image.pixels; ++i)
    sum +=
        image.red == image.blue ? double{image.red[i]} : double{grey_of(image.red[i], image.green[i], image.blue[i])};
  return static_cast<float>(sum / static_cast<double>(image.pixels));
}

void change(ColorChanges::Kind kind, float by, const Planes& image) {
  const bool is_grey = image.red == image.blue;
  const i64 count = is_grey ? image.pixels : 3 * image.pixels;
  if (kind == ColorChanges::brightness) return blend(by, count, image.blue, 0);
  if (kind == ColorChanges::contrast) return blend(by, count, image.blue, mean_grey(image));
  for (i64 i = 0; i < image.pixels && !is_grey; ++i) {
    float &red = image.red[i], &green = image.green[i], &blue = image.blue[i];
    if (kind == ColorChanges::saturation) {
      const float grey = grey_of(red, green, blue);
      for (float* const value : {&red, &green, &blue}) blend(by, 1, value, grey);
      continue;
    }
    for (float* const value : {&red, &green, &blue}) *value /= white;
    turn_hue(by, red, green, blue);
    for (float* const value : {&red, &green, &blue}) *value = clamped(*value * white);
  }
}
}  // namespace

void check_augmentation(const caffe::TransformationParameter& transform, i64 channels, const std::string& where) {
  const auto need = [&](bool holds, const std::string& what, const std::string& advice) {
    if (!holds) throw ConfigError(where, "transform_param: " + what, advice);
  };
  if (transform.has_random_resized_crop()) {
    const ResizedCrop& crop = transform.random_resized_crop();
    need(transform.crop_size() > 0, "random_resized_crop without a crop_size",
         "give the size to which parts are resized");
    need(crop.min_scale() > 0 && crop.max_scale() <= 1 && crop.min_scale() <= crop.max_scale(),
         "random_resized_crop wants 0 < min_scale <= max_scale <= 1", "they are shares of the image's area");
    need(crop.min_ratio() > 0 && crop.min_ratio() <= crop.max_ratio() && std::isfinite(crop.max_ratio()),
         "random_resized_crop wants 0 < min_ratio <= max_ratio", "they are a part's width / height");
    need(!transform.has_mean_file(), "random_resized_crop with a mean_file", "give mean_value: no pixel has its place");
  }
  if (transform.pad() > 0) {
    need(transform.pad() < transform.crop_size(),
         "pad of " + std::to_string(transform.pad()) + " with a crop_size of " + std::to_string(transform.crop_size()),
         "give a larger crop_size, so that every crop meets the image");
    need(!transform.has_random_resized_crop(), "both pad and random_resized_crop", "give one of them");
    need(!transform.has_mean_file(), "pad with a mean_file", "give mean_value: no mean lies outside the image");
  }
  if (transform.has_color_jitter()) {
    const ColorJitter& jitter = transform.color_jitter();
    for (const float range : {jitter.brightness(), jitter.contrast(), jitter.saturation()})
      need(range >= 0 && std::isfinite(range), "color_jitter has a range below 0", "factors are from 1 - x to 1 + x");
    need(jitter.hue() >= 0 && jitter.hue() <= 0.5f, "color_jitter wants a hue from 0 to 0.5", "0.5 is half a circle");
    need(channels == 1 || channels == 3, "color_jitter of " + std::to_string(channels) + " channels",
         "it knows grey images, and blue, green and red");
  }
}

ImagePart draw_part(const ResizedCrop& ranges, int height, int width, std::uint64_t key) {
  Draws draws(key);
  for (int trial = 0; trial < 10; ++trial) {
    const double area = double{1} * height * width * draws.uniform(ranges.min_scale(), ranges.max_scale());
    const double ratio =
        std::exp(draws.uniform(std::log(double{ranges.min_ratio()}), std::log(double{ranges.max_ratio()})));
    const int part_width = rounded(std::sqrt(area * ratio)), part_height = rounded(std::sqrt(area / ratio));
    const bool fits = part_width > 0 && part_width <= width && part_height > 0 && part_height <= height;
    const int row = draws.below(fits ? height - part_height + 1 : 1);
    const int column = draws.below(fits ? width - part_width + 1 : 1);
    if (fits) return {row, column, part_height, part_width};
  }
  const double ratio = double{1} * width / height;
  int part_height = height, part_width = width;
  if (ratio < double{ranges.min_ratio()})
    part_height = std::clamp(rounded(width / double{ranges.min_ratio()}), 1, height);
  else if (ratio > double{ranges.max_ratio()})
    part_width = std::clamp(rounded(height * double{ranges.max_ratio()}), 1, width);
  return {(height - part_height) / 2, (width - part_width) / 2, part_height, part_width};
}

ColorChanges draw_colors(const ColorJitter& ranges, std::uint64_t key) {
  Draws draws(key);
  ColorChanges changes;
  for (std::size_t left = changes.order.size(); left > 1; --left)
    std::swap(changes.order[left - 1], changes.order[static_cast<std::size_t>(draws.below(static_cast<int>(left)))]);
  const auto factor = [&](float range) {
    return static_cast<float>(draws.uniform(std::max(0.0, 1 - double{range}), 1 + double{range}));
  };
  changes.by = {factor(ranges.brightness()), factor(ranges.contrast()), factor(ranges.saturation()),
                static_cast<float>(draws.uniform(-double{ranges.hue()}, double{ranges.hue()}))};
  return changes;
}

void change_colors(const ColorChanges& changes, i64 channels, i64 pixels, float* planes) {
  const Planes image{pixels, planes, channels == 1 ? planes : planes + pixels,
                     channels == 1 ? planes : planes + 2 * pixels};
  for (const ColorChanges::Kind kind : changes.order) {
    const float by = changes.by[static_cast<std::size_t>(kind)];
    if (by != (kind == ColorChanges::hue ? 0.0f : 1.0f)) change(kind, by, image);
  }
}

}  // namespace cortado
