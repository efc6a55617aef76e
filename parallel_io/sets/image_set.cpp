#include "parallel_io/sets/image_set.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstring>
#include <filesystem>
#include <limits>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/formats/files.h"
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
/// False where nothing is, and where the name cannot be one.
bool can_be_there(const std::string& file) { return file.size() < PATH_MAX && exists(file); }

}  // namespace

ImageSet::ImageSet(const std::string& path, const OpenOptions& options)
    : path_(path),
      root_(kind_of(path) == FileKind::folder ? "" : options.root),
      list_(kind_of(path) == FileKind::folder ? list_folder(path, options.classes) : open_list(path)) {
  samples_ = list_.lines();
  const std::string file = entry(0).file;
  expect_there(0, file);
  const Image first = read_image(file, options.channels);
  fields_ = {{"data", {first.channels, first.height, first.width}, Stored::encoded}, {"label", {}, Stored::float32}};
  settle_labels(options);
}

void ImageSet::settle_labels(const OpenOptions& options) {
  if (labels_ == 1 || !classes_.empty()) return;
  if (!options.any_label)
    throw FileError(path_, label_images_ ? "gives images as labels" : "gives several labels a line",
                    "data layers read that; to convert, give a whole number a line");
  if (!label_images_) {
    fields_[1].sample_shape = {static_cast<i64>(labels_)};
    return;
  }
  const std::string file = entry(0).label_image;
  const RawFile raw(file);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(raw.bytes()));
  raw.read(0, raw.bytes(), bytes.data());
  const Image first = decode_labels(bytes.data(), bytes.size(), file);
  fields_[1] = {"label", {1, first.height, first.width}, Stored::encoded};
}

/// All lines have what the first one has.
void ImageSet::check_labels(const Entry& entry, i64 line) {
  if (labels_ == 0 && !label_images_) {
    labels_ = entry.labels.size();
    label_images_ = !entry.label_image.empty();
  }
  if (labels_ == entry.labels.size() && label_images_ == !entry.label_image.empty()) return;
  const auto text = [](std::size_t labels) {
    return labels == 0 ? std::string("an image as label")
                       : std::to_string(labels) + (labels == 1 ? " label" : " labels");
  };
  throw FileError(path_ + ":" + std::to_string(line),
                  "gives " + text(entry.labels.size()) + ", the first line " + text(labels_));
}

void ImageSet::know(const Entry& entry) {
  for (const std::string& file : {entry.file, entry.label_image}) known_.add(file.substr(file.rfind('/') + 1));
  known_.add(entry.labels.data(), entry.labels.size() * sizeof(float));
}

ListFile ImageSet::open_list(const std::string& path) {
  ListFile list(RawFile(path), [&](const ListFile::Line& line) {
    const Entry entry = parse(line);
    check_labels(entry, line.number);
    know(entry);
  });
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
      know({file, {static_cast<float>(label)}, ""});
    }
  }
  ListFile made(std::move(list).finish(), [](const ListFile::Line&) {});
  if (made.lines() == 0) throw FileError(path, "has no images in folders, one per class");
  return made;
}

ImageSet::Entry ImageSet::parse(const ListFile::Line& line) const {
  std::string rest = line.text;
  const auto take_word = [&] {  // the last one; names may have spaces
    const auto space = rest.find_last_of(" \t");
    const std::string word = space == std::string::npos ? "" : rest.substr(space + 1);
    rest.resize(space == std::string::npos ? 0 : rest.find_last_not_of(" \t", space) + 1);
    return word;
  };
  const auto is_number = [](const std::string& word) {
    return !word.empty() && word.find_first_not_of("0123456789", word[0] == '-' || word[0] == '+') == std::string::npos;
  };
  std::string word = take_word();
  if (is_image_name(word) && is_image_name(rest)) return {root_ + rest, {}, root_ + word};
  if (!is_number(word) || rest.empty()) {
    if (!looks_like_text(path_)) throw FileError(path_, "is no text", "it should list images, each with its label");
    throw FileError(path_ + ":" + std::to_string(line.number), "names an image without a label",
                    "a line is a path and a whole number, or several, or a label image");
  }
  const std::string place = path_ + ":" + std::to_string(line.number);
  const auto label_of = [&](const std::string& text) {
    i64 value = 0;
    const auto [end, failed] =
        std::from_chars(text.data() + (text[0] == '+' ? 1 : 0), text.data() + text.size(), value);
    const bool is_read = failed == std::errc() && end == text.data() + text.size();
    return exact_label(is_read ? value : std::numeric_limits<i64>::max(), [&] { return place; });
  };
  Entry entry{root_ + rest, {label_of(word)}, ""};
  // More numbers are labels where an image's name ends before them; otherwise they are the name's.
  std::vector<std::string> words = {word};  // the last one first
  while (!is_image_name(rest) && is_number(word = take_word())) words.push_back(word);
  if (!is_image_name(rest) || words.size() == 1) return entry;
  entry = {root_ + rest, {}, ""};
  for (auto label = words.rbegin(); label != words.rend(); ++label) entry.labels.push_back(label_of(*label));
  return entry;
}

/// A path of a list, where it is.
std::string ImageSet::found(const std::string& file) const {
  if (!root_.empty() || file.empty() || fs::path(file).is_absolute() || can_be_there(file)) return file;
  const fs::path near = fs::path(path_).parent_path() / file;
  return can_be_there(near.string()) ? near.string() : file;
}

/// Throws FileError that names the line of a list whose file is not there.
void ImageSet::expect_there(i64 sample, const std::string& file) const {
  if (!classes_.empty() || can_be_there(file)) return;
  throw FileError(path_ + " line " + std::to_string(list_.line(sample).number),
                  "names '" + file.substr(0, 80) + "', which is not there",
                  path_ + " is a text, so each of its lines is taken for an image and its label");
}

ImageSet::Entry ImageSet::entry(i64 sample) const {
  Entry entry = parse(list_.line(sample));
  return {found(entry.file), entry.labels, found(entry.label_image)};
}

void ImageSet::read(const i64* indices, i64 count, std::vector<Values>& to) const {
  to.resize(2);
  const auto open = [&](const std::string& name, i64 sample) {
    try {
      return RawFile(name);
    } catch (const FileError&) {
      expect_there(sample, name);
      throw;
    }
  };
  const auto append = [&](const std::string& name, i64 sample, Values& values) {
    const RawFile file = open(name, sample);
    const i64 begin = values.begin.back(), bytes = file.bytes();
    values.bytes.resize(static_cast<std::size_t>(begin + bytes));
    file.read(0, bytes, values.bytes.data() + begin);
    values.begin.push_back(begin + bytes);
  };
  for (Values& values : to) {
    values.bytes.clear();
    values.begin.clear();
  }
  to[0].begin.assign(1, 0);
  if (label_images_) to[1].begin.assign(1, 0);
  for (i64 i = 0; i < count; ++i) {
    const Entry wanted = entry(indices[i]);
    append(wanted.file, indices[i], to[0]);
    if (label_images_) {
      append(wanted.label_image, indices[i], to[1]);
    } else {
      const auto* const labels = reinterpret_cast<const std::uint8_t*>(wanted.labels.data());
      to[1].bytes.insert(to[1].bytes.end(), labels, labels + wanted.labels.size() * sizeof(float));
    }
  }
}

}  // namespace cortado
