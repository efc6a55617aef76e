// Random parts and colours of training images, beside plain loops of torchvision's definitions.
#include "parallel_io/feed/augmentation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "parallel_io/feed/transformer.h"
#include "tests/parallel_io/sets_rig.h"

namespace cortado::test::augmentation_test {
namespace {
using ColorJitter = caffe::TransformationParameter::ColorJitter;
using ResizedCrop = caffe::TransformationParameter::ResizedCrop;

template <class Message>
Message parsed(const std::string& text) {
  Message message;
  parse_text(text, "test", message);
  return message;
}

std::vector<int> numbers_of(const ImagePart& part) { return {part.row, part.column, part.height, part.width}; }

/// RandomResizedCrop.get_params with the draws of `key`.
std::vector<int> part_by_loops(const ResizedCrop& ranges, int height, int width, std::uint64_t key) {
  const double low = std::log(double{ranges.min_ratio()}), high = std::log(double{ranges.max_ratio()});
  std::uint64_t next = 0;
  const auto below = [&](int end) { return static_cast<int>(random_bits(key, next++) % static_cast<unsigned>(end)); };
  for (int trial = 0; trial < 10; ++trial) {
    const double share = random_uniform(key, next++), place = random_uniform(key, next++);
    const double target =
        height * width * (ranges.min_scale() + (double{ranges.max_scale()} - ranges.min_scale()) * share);
    const double aspect = std::exp(low + (high - low) * place);
    const int w = static_cast<int>(std::nearbyint(std::sqrt(target * aspect)));
    const int h = static_cast<int>(std::nearbyint(std::sqrt(target / aspect)));
    if (0 < w && w <= width && 0 < h && h <= height) {
      const int row = below(height - h + 1), column = below(width - w + 1);
      return {row, column, h, w};
    }
    next += 2;
  }
  const double in_ratio = double{1} * width / height;
  int w = width, h = height;
  if (in_ratio < double{ranges.min_ratio()})
    h = static_cast<int>(std::nearbyint(w / double{ranges.min_ratio()}));
  else if (in_ratio > double{ranges.max_ratio()})
    w = static_cast<int>(std::nearbyint(h * double{ranges.max_ratio()}));
  return {(height - h) / 2, (width - w) / 2, h, w};
}

TEST(Augmentation, PartsAreTorchvisions) {
  const auto ranges = parsed<ResizedCrop>("");
  for (const auto& [height, width] : std::vector<std::pair<int, int>>{{1, 1}, {3, 7}, {32, 32}, {224, 160}, {50, 300}})
    for (std::uint64_t key = 0; key < 2000; ++key) {
      const ImagePart part = draw_part(ranges, height, width, key);
      ASSERT_TRUE(part.row >= 0 && part.column >= 0 && part.height > 0 && part.width > 0);
      ASSERT_TRUE(part.row + part.height <= height && part.column + part.width <= width);
      ASSERT_EQ(numbers_of(part), part_by_loops(ranges, height, width, key)) << height << " x " << width << ", " << key;
    }
}

TEST(Augmentation, PartsThatAllFitAreUniformInArea) {
  const auto ranges = parsed<ResizedCrop>("max_scale: 0.5");
  double shares = 0, logarithms = 0;
  for (std::uint64_t key = 0; key < 4000; ++key) {
    const ImagePart part = draw_part(ranges, 300, 300, key);
    shares += part.height * part.width / 90000.0 / 4000;
    logarithms += std::log(double{1} * part.width / part.height) / 4000;
  }
  EXPECT_NEAR(shares, (0.08 + 0.5) / 2, 0.01);
  EXPECT_NEAR(logarithms, 0, 0.01);
}

TEST(Augmentation, PartsThatNeverFitAreTheMiddle) {
  const auto wide = parsed<ResizedCrop>("min_scale: 1 min_ratio: 3 max_ratio: 4");
  EXPECT_EQ(numbers_of(draw_part(wide, 40, 10, 1)), (std::vector<int>{18, 0, 3, 10}));
  const auto high = parsed<ResizedCrop>("min_scale: 1 min_ratio: 0.25 max_ratio: 0.5");
  EXPECT_EQ(numbers_of(draw_part(high, 10, 41, 1)), (std::vector<int>{0, 18, 10, 5}));
  const auto within = parsed<ResizedCrop>("min_scale: 1 min_ratio: 1 max_ratio: 1");
  EXPECT_EQ(numbers_of(draw_part(within, 40, 40, 1)), (std::vector<int>{0, 0, 40, 40}));
}

/// The textbook's hexcone, in degrees.
void turn_by_loops(double by, double& r, double& g, double& b) {
  const double v = std::max({r, g, b}), range = v - std::min({r, g, b});
  if (range == 0) return;
  double h = v == r ? 60 * (g - b) / range : v == g ? 60 * (b - r) / range + 120 : 60 * (r - g) / range + 240;
  h = std::fmod(h + 360 * by + 720, 360);
  const auto channel = [&](double n) {
    const double k = std::fmod(n + h / 60, 6);
    return v - range * std::max(0.0, std::min({k, 4 - k, 1.0}));
  };
  r = channel(5), g = channel(3), b = channel(1);
}

std::vector<double> colors_by_loops(const ColorChanges& changes, std::size_t channels, std::vector<double> x) {
  const std::size_t n = x.size() / channels;
  const auto grey_at = [&](std::size_t i) {
    return channels == 1 ? x[i] : 0.2989 * x[2 * n + i] + 0.587 * x[n + i] + 0.114 * x[i];
  };
  for (const auto kind : changes.order) {
    const double by = changes.by[static_cast<std::size_t>(kind)];
    double mean = 0;
    std::vector<double> greys;
    for (std::size_t i = 0; i < n; ++i) {
      greys.push_back(grey_at(i));
      mean += greys.back() / static_cast<double>(n);
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (kind == ColorChanges::hue && channels == 3) turn_by_loops(by, x[2 * n + i], x[n + i], x[i]);
      for (std::size_t c = 0; c < channels; ++c) {
        double& value = x[c * n + i];
        if (kind == ColorChanges::brightness) value = by * value;
        if (kind == ColorChanges::contrast) value = by * value + (1 - by) * mean;
        if (kind == ColorChanges::saturation && channels == 3) value = by * value + (1 - by) * greys[i];
        value = std::min(255.0, std::max(0.0, value));
      }
    }
  }
  return x;
}

TEST(Augmentation, ColoursAreTorchvisions) {
  std::vector<std::array<float, 4>> all = {{0, 1, 1, 0},    {1.7f, 1, 1, 0},  {1, 0, 1, 0},
                                           {1, 3, 1, 0},    {1, 1, 0, 0},     {1, 1, 2, 0},
                                           {1, 1, 1, 0.5f}, {1, 1, 1, -0.5f}, {1, 1, 1, 0.1f}};
  const auto jitter = parsed<ColorJitter>("brightness: 0.4 contrast: 0.4 saturation: 0.4 hue: 0.1");
  std::vector<ColorChanges> changes;
  for (const auto& by : all) changes.push_back({{}, by}), changes.back().order = ColorChanges().order;
  for (std::uint64_t key = 0; key < 30; ++key) changes.push_back(draw_colors(jitter, key));
  for (const std::size_t channels : {1, 3})
    for (const std::size_t pixels : {1, 7, 130})
      for (std::size_t change = 0; change < changes.size(); ++change) {
        std::vector<float> image(channels * pixels);
        for (std::size_t i = 0; i < image.size(); ++i)
          image[i] = i % 11 == 0 ? 255 : i % 7 == 0 ? 0 : static_cast<float>(random_bits(change, i) % 256);
        const auto expected = colors_by_loops(changes[change], channels, {image.begin(), image.end()});
        change_colors(changes[change], static_cast<i64>(channels), static_cast<i64>(pixels), image.data());
        for (std::size_t i = 0; i < image.size(); ++i)
          ASSERT_NEAR(image[i], expected[i], 2e-3) << channels << ", " << pixels << ", " << change << ", " << i;
      }
}

TEST(Augmentation, ColoursAreDrawnFromTheirRanges) {
  const auto ranges = parsed<ColorJitter>("brightness: 0.5 contrast: 2 hue: 0.25");
  std::set<std::array<ColorChanges::Kind, 4>> orders;
  std::array<float, 4> least = {9, 9, 9, 9}, most = {-9, -9, -9, -9};
  for (std::uint64_t key = 0; key < 2000; ++key) {
    const ColorChanges changes = draw_colors(ranges, key);
    orders.insert(changes.order);
    for (std::size_t i = 0; i < 4; ++i) {
      least[i] = std::min(least[i], changes.by[i]);
      most[i] = std::max(most[i], changes.by[i]);
    }
  }
  EXPECT_EQ(orders.size(), 24u);
  const std::array<float, 4> low = {0.5f, 0, 1, -0.25f}, high = {1.5f, 3, 1, 0.25f};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_GE(least[i], low[i]);
    EXPECT_LE(most[i], high[i]);
    EXPECT_NEAR(least[i], low[i], 0.01);
    EXPECT_NEAR(most[i], high[i], 0.01);
  }
}

/// One image, which the field holds as bytes or encoded, through a transformer.
std::vector<float> transformed(const Image& image, const std::string& text, i64 position, bool training = true,
                               bool encoded = false, bool is_image = true) {
  const auto parameter = parsed<caffe::TransformationParameter>(text);
  BatchRequest request;
  request.source = "made";
  request.transform = &parameter;
  request.training = training;
  const Transformer transformer(
      {"data", {image.channels, image.height, image.width}, encoded ? Stored::encoded : Stored::uint8}, request,
      is_image);
  auto bytes = encoded ? encode_png(image) : image.values;
  if (!encoded && image.channels == 3)  // blue, green, red
    std::swap_ranges(bytes.begin(), bytes.begin() + image.height * image.width,
                     bytes.begin() + 2 * image.height * image.width);
  std::vector<float> to(static_cast<std::size_t>(count_of(transformer.sample_shape())));
  transformer(
      {bytes.data(), static_cast<i64>(bytes.size()), position}, [] { return "made"; },
      [&](const Shape&) { return to.data(); });
  return to;
}

Image made_image(int channels, int height, int width) {
  Image image{channels, height, width, {}};
  for (int i = 0; i < channels * height * width; ++i)
    image.values.push_back(static_cast<std::uint8_t>(random_bits(5, static_cast<std::uint64_t>(i))));
  return image;
}

TEST(Augmentation, TransformerResizesPartsAndMirrorsThem) {
  const Image image = made_image(1, 8, 8);
  const std::string text =
      "crop_size: 3 mirror: true random_resized_crop { min_scale: 0.25 max_scale: 0.25 min_ratio: 1 max_ratio: 1 }";
  std::set<std::vector<float>> possible, seen;
  for (int row = 0; row < 5; ++row)
    for (int column = 0; column < 5; ++column) {
      const Image part = resize(cut(image.values.data(), 1, 8, 8, {row, column, 4, 4}), {3, 3, true});
      std::vector<float> values(part.values.begin(), part.values.end());
      possible.insert(values);
      for (auto line = values.begin(); line != values.end(); line += 3) std::reverse(line, line + 3);
      possible.insert(values);
    }
  for (i64 position = 0; position < 800; ++position) {
    seen.insert(transformed(image, text, position));
    EXPECT_EQ(transformed(image, text, position), transformed(image, text, position));
  }
  EXPECT_EQ(seen, possible);
  EXPECT_EQ(transformed(image, text, 1, false), transformed(image, "crop_size: 3", 1, false)) << "tests: the middle";
  const auto larger = transformed(image, "crop_size: 11 random_resized_crop { }", 3);
  EXPECT_EQ(larger.size(), 121u) << "parts may be enlarged";
}

TEST(Augmentation, LabelsTakeTheImagesPart) {
  const Image image = made_image(1, 9, 7);
  const std::string text =
      "crop_size: 4 mirror: true random_resized_crop { min_scale: 0.254 max_scale: 0.254 min_ratio: 1 max_ratio: 1 }";
  std::set<std::vector<float>> seen;
  for (i64 position = 0; position < 60; ++position) {
    const auto values = transformed(image, text, position);
    EXPECT_EQ(transformed(image, text, position, true, true, false), values);  // 4 x 4: nothing to resize
    seen.insert(values);
  }
  EXPECT_GT(seen.size(), 20u);
}

/// The image with `pad` pixels of `value` on each side.
Image surrounded(const Image& image, int pad, std::uint8_t value) {
  Image all{image.channels, image.height + 2 * pad, image.width + 2 * pad, {}};
  for (int c = 0; c < all.channels; ++c)
    for (int y = -pad; y < image.height + pad; ++y)
      for (int x = -pad; x < image.width + pad; ++x) {
        const bool inside = y >= 0 && y < image.height && x >= 0 && x < image.width;
        const auto at = static_cast<std::size_t>((c * image.height + y) * image.width + x);
        all.values.push_back(inside ? image.values[at] : value);
      }
  return all;
}

TEST(Augmentation, CropsOfPaddedImagesAreThoseOfImagesStoredPadded) {
  struct Case {
    int channels, height, width, pad, crop;
  };
  for (const auto& [channels, height, width, pad, crop] :
       std::vector<Case>{{3, 5, 6, 2, 5}, {1, 4, 4, 1, 6}, {3, 1, 3, 3, 4}, {1, 8, 5, 2, 3}}) {
    const Image image = made_image(channels, height, width), all = surrounded(image, pad, 0);
    const std::string size = "crop_size: " + std::to_string(crop), pads = " pad: " + std::to_string(pad);
    for (const std::string more : {"", " mirror: true mean_value: 9 scale: 0.5", " color_jitter { contrast: 0.3 }"}) {
      std::set<std::vector<float>> seen;
      for (i64 position = 0; position < 60; ++position) {
        const auto values = transformed(image, size + pads + more, position);
        EXPECT_EQ(values, transformed(all, size + more, position));
        EXPECT_EQ(values, transformed(image, size + pads + more, position, true, true)) << "encoded";
        seen.insert(values);
      }
      EXPECT_GT(seen.size(), crop == 6 ? 0u : 8u);
      EXPECT_EQ(transformed(image, size + pads + more, 0, false), transformed(all, size + more, 0, false)) << "tests";
    }
    if (channels > 1) continue;
    EXPECT_EQ(transformed(image, size + pads, 7, true, true, false),
              transformed(surrounded(image, pad, 255), size, 7, true, true, false))
        << "labels";
  }
}

TEST(Augmentation, TransformerChangesColoursBeforeTheMean) {
  const Image image = made_image(3, 6, 5);
  const std::string plain = "crop_size: 4 mirror: true", mean = " mean_value: 7 scale: 0.5";
  std::set<float> factors;
  for (i64 position = 0; position < 50; ++position) {
    const auto before = transformed(image, plain, position);
    const auto after = transformed(image, plain + mean + " color_jitter { brightness: 0.5 }", position);
    const auto darkest = std::min_element(before.begin(), before.end(),
                                          [](float a, float b) { return (a > 30 ? a : 999) < (b > 30 ? b : 999); });
    const float factor = (after[static_cast<std::size_t>(darkest - before.begin())] * 2 + 7) / *darkest;
    EXPECT_TRUE(factor > 0.499f && factor < 1.501f) << factor;
    factors.insert(factor);
    for (std::size_t i = 0; i < before.size(); ++i)
      ASSERT_NEAR(after[i], (std::min(255.0f, before[i] * factor) - 7) * 0.5f, 1e-3);
    EXPECT_EQ(transformed(image, plain + " color_jitter { brightness: 0.5 hue: 0.5 }", position, false),
              transformed(image, plain, position, false))
        << "tests see the image's own colours";
    const std::string all = plain + " color_jitter { brightness: 0.4 contrast: 0.4 saturation: 0.4 hue: 0.3 }";
    EXPECT_EQ(transformed(image, all, position), transformed(image, all, position, true, true))
        << "bytes and files are of one colour";
  }
  EXPECT_GT(factors.size(), 40u);
}

TEST(Augmentation, MistakesAreNamed) {
  const Image image = made_image(3, 6, 5);
  const auto told = [&](const std::string& text) { return message_of([&] { transformed(image, text, 0); }); };
  expect_says(told("random_resized_crop { }"), "without a crop_size");
  expect_says(told("crop_size: 4 random_resized_crop { min_scale: 0 }"), "min_scale");
  expect_says(told("crop_size: 4 random_resized_crop { max_scale: 1.5 }"), "max_scale");
  expect_says(told("crop_size: 4 random_resized_crop { min_ratio: 2 }"), "min_ratio");
  expect_says(told("crop_size: 4 random_resized_crop { } mean_file: 'x'"), "mean_value");
  expect_says(told("pad: 2"), "crop_size of 0");
  expect_says(told("crop_size: 4 pad: 4"), "larger crop_size");
  expect_says(told("crop_size: 10 pad: 2"), "larger than the first image");
  expect_says(told("crop_size: 4 pad: 2 random_resized_crop { }"), "one of them");
  expect_says(told("crop_size: 4 pad: 2 mean_file: 'x'"), "mean_value");
  expect_says(told("color_jitter { brightness: -1 }"), "below 0");
  expect_says(told("color_jitter { hue: 0.6 }"), "hue");
  expect_says(message_of([] { transformed(made_image(2, 4, 4), "color_jitter { hue: 0.1 }", 0); }), "2 channels");
  expect_says(message_of([] {
                const auto parameter = parsed<caffe::TransformationParameter>("color_jitter { hue: 0.1 }");
                BatchRequest request;
                request.transform = &parameter;
                Transformer({"data", {3, 4, 4}, Stored::float32}, request, true);
              }),
              "holds floats");
}
}  // namespace
}  // namespace cortado::test::augmentation_test
