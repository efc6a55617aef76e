#include "parallel_io/sets/image.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <functional>
#include <mutex>
#include <set>
#include <sstream>

#include "core/base/error.h"
#include "core/base/log.h"
#include "parallel_io/sets/raw_file.h"

namespace cortado {
namespace {
constexpr std::size_t most_warnings = 20;
std::atomic<bool> refuses_damaged{false};
std::mutex damaged_mutex;
std::set<std::string> damaged;  // digests of where they lie, of this process
}  // namespace

void refuse_damaged_images() { refuses_damaged = true; }

void note_damaged_image(const std::string& where, const std::string& what) {
  if (refuses_damaged) throw FileError(where, "is damaged: " + what, "leave out --strict to take what it decodes to");
  std::size_t number = 0;
  {
    const std::lock_guard<std::mutex> lock(damaged_mutex);
    if (!damaged.insert(std::to_string(std::hash<std::string>()(where))).second) return;
    number = damaged.size();
  }
  if (number <= most_warnings) CORTADO_LOG(warning) << where << ": is damaged: " << what;
  if (number == most_warnings) CORTADO_LOG(warning) << "Further damaged images are counted only";
}

std::string damaged_images() {
  const std::lock_guard<std::mutex> lock(damaged_mutex);
  std::string lines;
  for (const auto& one : damaged) lines += one + "\n";
  return lines;
}

void report_damaged_images(const std::vector<std::string>& of_ranks) {
  std::set<std::string> all;
  for (const auto& lines : of_ranks) {
    std::istringstream in(lines);
    for (std::string line; std::getline(in, line);) all.insert(line);
  }
  if (!all.empty())
    CORTADO_LOG(warning) << all.size() << (all.size() == 1 ? " image is" : " images are")
                         << " damaged; what was missing is grey (--strict refuses them)";
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
