#include "parallel_io/sets/image_set.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "parallel_io/sets/image.h"
#include "parallel_io/sets/raw_file.h"

namespace cortado {
namespace {
namespace fs = std::filesystem;

/// Names of the folders, or of the images, in a folder, sorted.
std::vector<std::string> sorted_names(const fs::path& folder, bool folders) {
  std::error_code error;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.is_directory() == folders && (folders || is_image_name(entry.path().string())))
      names.push_back(entry.path().filename().string());
  if (error) throw FileError(folder.string(), "cannot be read: " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}
}  // namespace

ImageSet::ImageSet(const std::string& path, const OpenOptions& options) {
  if (fs::is_directory(path))
    read_folder(path, options.classes);
  else
    read_list(path, options.root);
  samples_ = static_cast<i64>(entries_.size());
  const Image first = read_image(entries_[0].file, options.channels);
  fields_ = {{"data", {first.channels, first.height, first.width}, Stored::encoded}, {"label", {}, Stored::float32}};
}

void ImageSet::read_list(const std::string& path, const std::string& root) {
  std::ifstream in(path);
  if (!in) throw FileError(path, "cannot be read", "it should list images, each with its label");
  const fs::path own = fs::path(path).parent_path();
  i64 number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (line.empty()) continue;
    const auto space = line.find_last_of(" \t");  // names may have spaces
    char* end = nullptr;
    const long label = space == std::string::npos ? 0 : std::strtol(line.c_str() + space, &end, 10);
    if (space == std::string::npos || *end != '\0' || space + 1 >= line.size())
      throw FileError(path + ":" + std::to_string(number), "names an image without a label",
                      "a line is a path and a whole number");
    std::string file = root + line.substr(0, line.find_last_not_of(" \t", space) + 1);
    if (root.empty() && !fs::path(file).is_absolute() && !fs::exists(file) && fs::exists(own / file))
      file = (own / file).string();
    entries_.push_back({file, static_cast<int>(label)});
  }
  if (entries_.empty()) throw FileError(path, "lists no images");
}

void ImageSet::read_folder(const std::string& path, const std::vector<std::string>& classes) {
  classes_ = classes.empty() ? sorted_names(path, true) : classes;
  for (std::size_t label = 0; label < classes_.size(); ++label) {
    if (!fs::is_directory(fs::path(path) / classes_[label])) continue;
    for (const auto& file : sorted_names(fs::path(path) / classes_[label], false))
      entries_.push_back({(fs::path(path) / classes_[label] / file).string(), static_cast<int>(label)});
  }
  if (entries_.empty()) throw FileError(path, "has no images in folders, one per class");
}

void ImageSet::read(const i64* indices, i64 count, std::vector<Values>& to) const {
  to.resize(2);
  to[0].begin.assign(1, 0);
  to[0].bytes.clear();
  to[1].bytes.resize(static_cast<std::size_t>(count) * sizeof(float));
  for (i64 i = 0; i < count; ++i) {
    const Entry& entry = entries_[static_cast<std::size_t>(indices[i])];
    const RawFile file(entry.file);
    const i64 begin = to[0].begin.back(), bytes = file.bytes();
    to[0].bytes.resize(static_cast<std::size_t>(begin + bytes));
    file.read(0, bytes, to[0].bytes.data() + begin);
    to[0].begin.push_back(begin + bytes);
    const auto label = static_cast<float>(entry.label);
    std::memcpy(to[1].bytes.data() + i * 4, &label, 4);
  }
}

}  // namespace cortado
