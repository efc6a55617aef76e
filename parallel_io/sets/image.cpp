#include "parallel_io/sets/image.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cmath>
#include <iterator>

#include "core/base/error.h"
#include "core/base/log.h"
#include "parallel_io/sets/raw_file.h"

namespace cortado {
namespace {
constexpr int most_warnings = 20;
std::atomic<bool> refuses_damaged{false};
std::atomic<int> damaged_images{0};  // decoded, also more than once
}  // namespace

void refuse_damaged_images() { refuses_damaged = true; }

void note_damaged_image(const std::string& where, const std::string& what) {
  if (refuses_damaged) throw FileError(where, "is damaged: " + what, "leave out --strict to take what it decodes to");
  const int number = ++damaged_images;
  if (number <= most_warnings) CORTADO_LOG(warning) << where << ": is damaged: " << what;
  if (number == most_warnings) CORTADO_LOG(warning) << "Further damaged images are counted only";
}

void report_damaged_images() {
  if (damaged_images > 0)
    CORTADO_LOG(warning) << "Damaged images were decoded " << damaged_images
                         << " times; what was missing is grey (--strict refuses them)";
}

Image read_image(const std::string& file, int channels) {
  const RawFile raw(file);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(raw.bytes()));
  raw.read(0, raw.bytes(), bytes.data());
  return decode_image(bytes.data(), bytes.size(), file, channels);
}

Image resize(const Image& from, int height, int width) {
  if (from.height == height && from.width == width) return from;
  Image to{from.channels, height, width, {}};
  const float sy = static_cast<float>(from.height) / static_cast<float>(height),
              sx = static_cast<float>(from.width) / static_cast<float>(width);
  for (int c = 0; c < to.channels; ++c)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        const float fy =
            std::clamp((static_cast<float>(y) + 0.5f) * sy - 0.5f, 0.0f, static_cast<float>(from.height - 1));
        const float fx =
            std::clamp((static_cast<float>(x) + 0.5f) * sx - 0.5f, 0.0f, static_cast<float>(from.width - 1));
        const int y0 = static_cast<int>(fy), x0 = static_cast<int>(fx);
        const int y1 = std::min(y0 + 1, from.height - 1), x1 = std::min(x0 + 1, from.width - 1);
        const float ay = fy - static_cast<float>(y0), ax = fx - static_cast<float>(x0);
        const float top =
            static_cast<float>(from.at(c, y0, x0)) * (1 - ax) + static_cast<float>(from.at(c, y0, x1)) * ax;
        const float bottom =
            static_cast<float>(from.at(c, y1, x0)) * (1 - ax) + static_cast<float>(from.at(c, y1, x1)) * ax;
        to.values.push_back(static_cast<std::uint8_t>(std::lround(top * (1 - ay) + bottom * ay)));
      }
  return to;
}

Image resize_labels(const Image& from, int height, int width) {
  Image to{from.channels, height, width, {}};
  for (int c = 0; c < to.channels; ++c)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        to.values.push_back(
            from.at(c, (2 * y + 1) * from.height / (2 * height), (2 * x + 1) * from.width / (2 * width)));
  return to;
}

bool is_image_name(const std::string& name) {
  const auto dot = name.rfind('.');
  std::string ending = dot == std::string::npos ? "" : name.substr(dot + 1);
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == "jpg" || ending == "jpeg" || ending == "png";
}

}  // namespace cortado
