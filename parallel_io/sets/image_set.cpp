#include "parallel_io/sets/image_set.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/file.h"
#include "parallel_io/sets/image.h"

namespace cortado {
namespace {
namespace fs = std::filesystem;

/// Names of the folders, or of the images, in a folder, sorted.
std::vector<std::string> sorted_names(const fs::path& folder, bool folders) {
  std::error_code error;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::error_code unknown;  // such as that of a link without a target
    if (entry.is_directory(unknown) == folders && (folders || is_image_name(entry.path().string())))
      names.push_back(entry.path().filename().string());
  }
  if (error) throw FileError(folder.string(), "cannot be read: " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}
}  // namespace

ImageSet::ImageSet(const std::string& path, const OpenOptions& options)
    : path_(path),
      root_(kind_of(path) == FileKind::folder ? "" : options.root),
      list_(kind_of(path) == FileKind::folder ? list_folder(path, options.classes) : open_list(path)) {
  samples_ = list_.lines();
  const Image first = read_image(entry(0).file, options.channels);
  fields_ = {{"data", {first.channels, first.height, first.width}, Stored::encoded}, {"label", {}, Stored::float32}};
}

ListFile ImageSet::open_list(const std::string& path) {
  ListFile list(RawFile(path), [&](const ListFile::Line& line) { parse(line); });
  if (list.lines() == 0) throw FileError(path, "lists no images", "it should list images, each with its label");
  return list;
}

ListFile ImageSet::list_folder(const std::string& path, const std::vector<std::string>& classes) {
  classes_ = classes.empty() ? sorted_names(path, true) : classes;
  ListWriter list(path);
  for (std::size_t label = 0; label < classes_.size(); ++label) {
    const fs::path folder = fs::path(path) / classes_[label];
    if (kind_of(folder) != FileKind::folder) continue;
    for (const auto& name : sorted_names(folder, false)) {
      const std::string file = (folder / name).string();
      if (file.find('\n') != std::string::npos) throw FileError(file, "has a line break in its name", "rename it");
      list.add(file + " " + std::to_string(label));
    }
  }
  ListFile made(std::move(list).finish(), [](const ListFile::Line&) {});
  if (made.lines() == 0) throw FileError(path, "has no images in folders, one per class");
  return made;
}

ImageSet::Entry ImageSet::parse(const ListFile::Line& line) const {
  const std::string& text = line.text;
  const auto space = text.find_last_of(" \t");  // names may have spaces
  char* end = nullptr;
  const long label = space == std::string::npos ? 0 : std::strtol(text.c_str() + space, &end, 10);
  if (space == std::string::npos || *end != '\0' || space + 1 >= text.size())
    throw FileError(path_ + ":" + std::to_string(line.number), "names an image without a label",
                    "a line is a path and a whole number");
  return {root_ + text.substr(0, text.find_last_not_of(" \t", space) + 1), static_cast<int>(label)};
}

ImageSet::Entry ImageSet::entry(i64 sample) const {
  Entry entry = parse(list_.line(sample));
  if (!root_.empty() || fs::path(entry.file).is_absolute() || exists(entry.file)) return entry;
  const fs::path near = fs::path(path_).parent_path() / entry.file;
  if (exists(near)) entry.file = near.string();
  return entry;
}

void ImageSet::read(const i64* indices, i64 count, std::vector<Values>& to) const {
  to.resize(2);
  to[0].begin.assign(1, 0);
  to[0].bytes.clear();
  to[1].bytes.resize(static_cast<std::size_t>(count) * sizeof(float));
  for (i64 i = 0; i < count; ++i) {
    const Entry wanted = entry(indices[i]);
    const RawFile file(wanted.file);
    const i64 begin = to[0].begin.back(), bytes = file.bytes();
    to[0].bytes.resize(static_cast<std::size_t>(begin + bytes));
    file.read(0, bytes, to[0].bytes.data() + begin);
    to[0].begin.push_back(begin + bytes);
    const auto label = static_cast<float>(wanted.label);
    std::memcpy(to[1].bytes.data() + i * 4, &label, 4);
  }
}

}  // namespace cortado
