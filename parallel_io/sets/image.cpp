#include "parallel_io/sets/image.h"

#include <algorithm>
#include <atomic>
#include <cctype>
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

Image read_image(const std::string& file, int channels, const ImageSize& size) {
  const RawFile raw(file);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(raw.bytes()));
  raw.read(0, raw.bytes(), bytes.data());
  return decode_image(bytes.data(), bytes.size(), file, channels, size);
}

bool is_image_name(const std::string& name) {
  const auto dot = name.rfind('.');
  std::string ending = dot == std::string::npos ? "" : name.substr(dot + 1);
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == "jpg" || ending == "jpeg" || ending == "png";
}

}  // namespace cortado
