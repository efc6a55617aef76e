#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "parallel_io/sets/image.h"

namespace cortado {
namespace {

/// The position of a pixel between two neighbours of the larger or smaller image, and their shares in 2048ths.
struct Between {
  int low, high, low_share, high_share;
};

/// OpenCV's arithmetic (imgproc/resize.cpp): places in float, shares rounded to even, neighbours clamped to the edge.
std::vector<Between> places_between(int from, int to) {
  constexpr float shares = 2048;
  const double scale = double{1} / (static_cast<double>(to) / from);
  std::vector<Between> places(static_cast<std::size_t>(to));
  for (int i = 0; i < to; ++i) {
    const auto at = static_cast<float>((i + 0.5) * scale - 0.5);
    const float low = std::floor(at), part = at - low;
    const int first = static_cast<int>(low);
    places[static_cast<std::size_t>(i)] = {std::clamp(first, 0, from - 1), std::clamp(first + 1, 0, from - 1),
                                           static_cast<int>(std::nearbyint((1 - part) * shares)),
                                           static_cast<int>(std::nearbyint(part * shares))};
  }
  return places;
}

/// Calls work(source plane, target plane) for each channel.
template <class Work>
void for_planes(const Image& from, Image& to, Work work) {
  const std::size_t source = static_cast<std::size_t>(from.height) * static_cast<std::size_t>(from.width),
                    target = static_cast<std::size_t>(to.height) * static_cast<std::size_t>(to.width);
  to.values.resize(target * static_cast<std::size_t>(to.channels));
  for (std::size_t c = 0; c < static_cast<std::size_t>(to.channels); ++c)
    work(from.values.data() + c * source, to.values.data() + c * target);
}

/// In whole numbers, as OpenCV's resize for 8 bits: rows are mixed across, and two of them down.
void resize_bilinear(const Image& from, Image& to) {
  auto columns = places_between(from.width, to.width);
  const auto rows = places_between(from.height, to.height);
  for (Between& column : columns)  // OpenCV does so across, and not down
    if (column.low == column.high) column = {column.low, column.low, 2048, 0};
  const auto width = static_cast<std::size_t>(to.width);
  std::vector<int> upper(width), lower(width);
  for_planes(from, to, [&](const std::uint8_t* source, std::uint8_t* target) {
    int upper_row = -1, lower_row = -1;
    const auto mix_row = [&](int row, std::vector<int>& mixed) {
      const std::uint8_t* const pixels = source + static_cast<std::ptrdiff_t>(row) * from.width;
      for (std::size_t x = 0; x < width; ++x)
        mixed[x] =
            (pixels[columns[x].low] * columns[x].low_share + pixels[columns[x].high] * columns[x].high_share) >> 4;
    };
    for (const Between& row : rows) {
      if (row.low == lower_row) {
        std::swap(upper, lower);
        std::swap(upper_row, lower_row);
      }
      if (row.low != upper_row) mix_row(upper_row = row.low, upper);
      if (row.high != lower_row) mix_row(lower_row = row.high, lower);
      for (std::size_t x = 0; x < width; ++x)
        target[x] = static_cast<std::uint8_t>(
            (((row.low_share * upper[x]) >> 16) + ((row.high_share * lower[x]) >> 16) + 2) >> 2);
      target += width;
    }
  });
}

/// The pixels that one pixel of the smaller image covers, and their weights in 2^22ths, which add up to one.
struct Covered {
  int first;
  std::vector<int> weights;
};

constexpr int weight_bits = 22;

/// Pillow's arithmetic (libImaging/Resample.c) with its bilinear filter: a triangle as wide as the shrinking asks for.
std::vector<Covered> covered_pixels(int from, int to) {
  const double scale = static_cast<double>(from) / to, reach = std::max(scale, 1.0);
  std::vector<Covered> all(static_cast<std::size_t>(to));
  for (int i = 0; i < to; ++i) {
    const double centre = (i + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(centre - reach + 0.5)),
              last = std::min(from, static_cast<int>(centre + reach + 0.5));
    std::vector<double> weights;
    double sum = 0;
    for (int k = first; k < last; ++k) {
      weights.push_back(std::max(0.0, 1 - std::abs((k - centre + 0.5) * (1 / reach))));
      sum += weights.back();
    }
    Covered& one = all[static_cast<std::size_t>(i)];
    one.first = first;
    for (const double weight : weights)
      one.weights.push_back(static_cast<int>(0.5 + weight / sum * (1 << weight_bits)));
  }
  return all;
}

constexpr int half = 1 << (weight_bits - 1);

/// Rows of `from` to rows of as many pixels as there are columns. With `taps`, each column covers so many at most and
/// is given so many, of which the last weigh nothing: a number that the compiler knows takes half the time.
template <int taps>
void mix_across(const std::uint8_t* source, int height, int width, const std::vector<Covered>& columns,
                std::uint8_t* target) {
  std::vector<int> firsts, weights;
  for (const Covered& column : columns) {
    const int first = std::min(column.first, width - taps);
    const auto begin = weights.size();
    firsts.push_back(first);
    weights.resize(begin + taps, 0);
    std::copy(column.weights.begin(), column.weights.end(),
              weights.begin() + static_cast<std::ptrdiff_t>(begin) + column.first - first);
  }
  for (int y = 0; y < height; ++y, source += width)
    for (std::size_t x = 0; x < firsts.size(); ++x) {
      const std::uint8_t* const pixels = source + firsts[x];
      const int* const weight = weights.data() + x * taps;
      int sum = half;
      for (int k = 0; k < taps; ++k) sum += weight[k] * pixels[k];
      *target++ = static_cast<std::uint8_t>(sum >> weight_bits);
    }
}

void mix_across_any(const std::uint8_t* source, int height, int width, const std::vector<Covered>& columns,
                    std::uint8_t* target) {
  for (int y = 0; y < height; ++y, source += width)
    for (const Covered& column : columns) {
      int sum = half;
      const std::uint8_t* pixel = source + column.first;
      for (const int weight : column.weights) sum += weight * *pixel++;
      *target++ = static_cast<std::uint8_t>(sum >> weight_bits);
    }
}

/// Across and then down, as Pillow does but where an image is high; there a value may differ by 1.
void resize_antialiased(const Image& from, Image& to) {
  const auto columns = covered_pixels(from.width, to.width), rows = covered_pixels(from.height, to.height);
  const auto width = static_cast<std::size_t>(to.width);
  std::size_t taps = 0;
  for (const Covered& column : columns) taps = std::max(taps, column.weights.size());
  const auto across = taps <= 4 && from.width >= 4   ? &mix_across<4>
                      : taps <= 8 && from.width >= 8 ? &mix_across<8>
                                                     : &mix_across_any;
  std::vector<std::uint8_t> narrow(width * static_cast<std::size_t>(from.height));
  std::vector<int> sums(width);
  for_planes(from, to, [&](const std::uint8_t* source, std::uint8_t* target) {
    across(source, from.height, from.width, columns, narrow.data());
    for (const Covered& row : rows) {
      std::fill(sums.begin(), sums.end(), half);
      const std::uint8_t* pixels = narrow.data() + static_cast<std::size_t>(row.first) * width;
      for (const int weight : row.weights) {
        for (std::size_t x = 0; x < width; ++x) sums[x] += weight * pixels[x];
        pixels += width;
      }
      for (std::size_t x = 0; x < width; ++x) target[x] = static_cast<std::uint8_t>(sums[x] >> weight_bits);
      target += width;
    }
  });
}

}  // namespace

void check_size(const ImageSize& size, const std::string& where) { sides_of({1, 1}, {size.height, size.width}, where); }

ImageSides resized(const ImageSides& from, const ImageSize& size) {
  if (size.height > 0) return {size.height, size.width};
  if (size.shorter == 0) return from;
  const auto longer = [&](int shorter_side, int longer_side) {
    const std::int64_t pixels = std::int64_t{size.shorter} * longer_side / shorter_side;
    return static_cast<int>(std::min<std::int64_t>(pixels, std::numeric_limits<int>::max()));
  };
  return from.width <= from.height ? ImageSides{longer(from.width, from.height), size.shorter}
                                   : ImageSides{size.shorter, longer(from.height, from.width)};
}

ImageSides sides_of(const ImageSides& from, const ImageSize& size, const std::string& where) {
  const ImageSides to = resized(from, size);
  const auto text = [](const ImageSides& sides) {
    return std::to_string(sides.width) + " x " + std::to_string(sides.height) + " pixels";
  };
  if (static_cast<std::size_t>(to.height) * static_cast<std::size_t>(to.width) > most_pixels)
    throw ConfigError(where, "images cannot have " + text(to) + ", more than " + std::to_string(most_pixels),
                      "give a smaller size");
  if (!size.crops()) return to;
  if (to.height < size.crop_height || to.width < size.crop_width)
    throw ConfigError(where,
                      "has " + text(to) + (size.resizes() ? " when it is resized" : "") +
                          ", less than the part to cut out, " + text({size.crop_height, size.crop_width}),
                      "give a smaller --crop, or a larger --resize");
  return {size.crop_height, size.crop_width};
}

Image resize(const Image& from, const ImageSize& size) {
  const ImageSides sides = resized({from.height, from.width}, size);
  Image to = from;
  if (sides.height != from.height || sides.width != from.width) {
    to = {from.channels, sides.height, sides.width, {}};
    (size.antialias ? resize_antialiased : resize_bilinear)(from, to);
  }
  if (!size.crops()) return to;
  // torchvision takes Python's round, which rounds halves to even.
  const auto begin = [](int all, int part) { return static_cast<int>(std::nearbyint((all - part) / 2.0)); };
  return cut(to.values.data(), to.channels, to.height, to.width,
             {begin(to.height, size.crop_height), begin(to.width, size.crop_width), size.crop_height, size.crop_width});
}

Image cut(const std::uint8_t* planes, int channels, int height, int width, const ImagePart& part) {
  Image to{channels, part.height, part.width, {}};
  for (int c = 0; c < channels; ++c)
    for (int y = part.row; y < part.row + part.height; ++y) {
      const std::uint8_t* const row = planes + (static_cast<std::ptrdiff_t>(c) * height + y) * width + part.column;
      to.values.insert(to.values.end(), row, row + part.width);
    }
  return to;
}

Image resize_labels(const Image& from, const ImageSize& size) {
  if (size.height == 0) return from;
  Image to{from.channels, size.height, size.width, {}};
  for_planes(from, to, [&](const std::uint8_t* source, std::uint8_t* target) {
    for (int y = 0; y < to.height; ++y)
      for (int x = 0; x < to.width; ++x)
        *target++ = source[(2 * y + 1) * from.height / (2 * to.height) * from.width +
                           (2 * x + 1) * from.width / (2 * to.width)];
  });
  return to;
}

}  // namespace cortado
