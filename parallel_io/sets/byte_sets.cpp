#include "parallel_io/sets/byte_sets.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/file.h"

namespace cortado {
namespace fs = std::filesystem;

std::string idx_labels_of(const std::string& images) {
  std::string name = fs::path(images).filename().string();
  const auto word = name.rfind("images"), kind = name.rfind("idx3");
  if (word == std::string::npos || kind == std::string::npos)
    throw FileError(images, "has no file of labels beside it",
                    "name the images like train-images-idx3-ubyte and the labels train-labels-idx1-ubyte");
  name[kind + 3] = '1';
  name.replace(word, 6, "labels");
  return (fs::path(images).parent_path() / name).string();
}

IdxSet::IdxSet(const std::string& images) : file_(images), images_(images), labels_(idx_labels_of(images)) {
  const Shape &shape = images_.shape(), &labels = labels_.shape();
  if (shape.size() != 3 || labels.size() != 1 || shape[0] != labels[0])
    throw FileError(images, "images have shape " + to_string(shape) + ", labels " + to_string(labels));
  samples_ = shape[0];
  if (samples_ == 0) throw FileError(images, "holds no samples");
  if (count_of(shape) == 0) throw FileError(images, "has images of shape " + to_string(shape) + ", without pixels");
  fields_ = {{"data", {1, shape[1], shape[2]}, Stored::uint8}, {"label", {}, Stored::float32}};
}

void IdxSet::read(const i64* indices, i64 count, std::vector<Values>& to) const {
  to.resize(2);
  const i64 bytes = fields_[0].sample_bytes();
  to[0].bytes.resize(static_cast<std::size_t>(count * bytes));
  to[1].bytes.resize(static_cast<std::size_t>(count) * sizeof(float));
  std::vector<std::uint8_t> labels(static_cast<std::size_t>(count));
  for (i64 i = 0, end = 1; i < count; i = end, ++end) {
    while (end < count && indices[end] == indices[end - 1] + 1) ++end;  // neighbours come in one piece
    images_.read(indices[i] * bytes, (end - i) * bytes, to[0].bytes.data() + i * bytes);
    labels_.read(indices[i], end - i, labels.data() + i);
  }
  for (i64 i = 0; i < count; ++i) {
    const float label = labels[static_cast<std::size_t>(i)];
    std::memcpy(to[1].bytes.data() + i * 4, &label, 4);
  }
}

void IdxSet::add_known(Digest& digest) const {
  std::vector<std::uint8_t> labels(static_cast<std::size_t>(samples_));
  labels_.read(0, samples_, labels.data());
  digest.add(labels.data(), labels.size());
}

CifarSet::CifarSet(const std::string& path) {
  std::vector<std::string> names;
  if (kind_of(path) == FileKind::folder) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(path, error))
      if (entry.path().filename().string().rfind("data_batch_", 0) == 0 && entry.path().extension() == ".bin")
        names.push_back(entry.path().string());
    if (error) throw FileError(path, "cannot be read: " + error.message());
  } else {
    names.push_back(path);
  }
  std::sort(names.begin(), names.end());
  for (const auto& name : names) {
    files_.emplace_back(name);
    const i64 bytes = files_.back().bytes();
    if (bytes == 0 || bytes % record_bytes != 0)
      throw FileError(
          name, "has " + std::to_string(bytes) + " bytes, no multiple of a record's " + std::to_string(record_bytes),
          "it is truncated, or no binary file of CIFAR-10");
    first_.push_back(first_.back() + bytes / record_bytes);
  }
  samples_ = first_.back();
  if (samples_ == 0) throw FileError(path, "holds no samples");
  fields_ = {{"data", {3, 32, 32}, Stored::uint8}, {"label", {}, Stored::float32}};
}

std::string CifarSet::where(i64 sample) const {
  const auto file =
      static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), sample) - first_.begin()) - 1;
  return files_[file].name() + ", sample " + std::to_string(sample);
}

void CifarSet::read(const i64* indices, i64 count, std::vector<Values>& to) const {
  to.resize(2);
  to[0].bytes.resize(static_cast<std::size_t>(count * (record_bytes - 1)));
  to[1].bytes.resize(static_cast<std::size_t>(count) * sizeof(float));
  std::uint8_t record[record_bytes] = {};
  for (i64 i = 0; i < count; ++i) {
    const auto file =
        static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), indices[i]) - first_.begin()) - 1;
    files_[file].read((indices[i] - first_[file]) * record_bytes, record_bytes, record);
    const auto label = static_cast<float>(record[0]);
    std::memcpy(to[1].bytes.data() + i * 4, &label, 4);
    std::uint8_t* const image = to[0].bytes.data() + i * (record_bytes - 1);
    std::memcpy(image, record + 1, record_bytes - 1);
    swap_red_and_blue(image, i64{32} * 32);
  }
}

void swap_red_and_blue(std::uint8_t* image, i64 plane) { std::swap_ranges(image, image + plane, image + 2 * plane); }

}  // namespace cortado
