#include "parallel_io/convert/file_writers.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/file.h"
#include "parallel_io/sets/byte_sets.h"
#include "parallel_io/sets/image.h"

namespace cortado {
namespace {
namespace fs = std::filesystem;

int label_of(const Values& labels, i64 i, int largest, const std::string& to) {
  float label = 0;
  std::memcpy(&label, labels.bytes.data() + i * 4, 4);
  if (std::floor(label) != label || label < 0 || label > static_cast<float>(largest))
    throw ConfigError(to, "takes labels from 0 to " + std::to_string(largest) + ", one is " + std::to_string(label));
  return static_cast<int>(label);
}

/// A file in a folder of ours, where a try that was killed may have left it. It is not brought to the disk: images are
/// many, and a block is only done when its list is.
void write_image_file(const std::string& name, const void* from, std::size_t bytes) {
  ::unlink(name.c_str());
  const Descriptor file(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file || ::write(file.get(), from, bytes) != static_cast<ssize_t>(bytes)) throw_system_error(name, "written");
}

/// Throws ConfigError unless samples are bytes of this shape (0: any).
void expect_bytes(const DataSet& set, const Shape& wanted, const std::string& to, const char* what) {
  const auto& field = set.fields()[0];
  bool fits = field.stored == Stored::uint8 && field.sample_shape.size() == wanted.size();
  for (std::size_t d = 0; fits && d < wanted.size(); ++d) fits = wanted[d] == 0 || wanted[d] == field.sample_shape[d];
  if (!fits)
    throw ConfigError(to, std::string(what) + "; samples here have shape " + to_string(field.sample_shape) +
                              (field.stored == Stored::uint8 ? "" : " and are no bytes"));
}
}  // namespace

ImageWriter::ImageWriter(const DataSet& set, const std::string& to, const WritePlan& plan, const Replicas& ranks)
    : set_(set),
      to_(to),
      folder_((fs::path(to).parent_path() / fs::path(to).stem()).string()),
      ranks_(ranks),
      note_(to, plan, ranks, {folder_}),
      workers_(process_cpus() - 1) {}

void ImageWriter::expect_fits(const DataSet& set, const std::string& to) {
  const auto& field = set.fields()[0];
  const bool image = field.sample_shape.size() == 3 && (field.sample_shape[0] == 1 || field.sample_shape[0] == 3);
  if (!image || field.stored == Stored::float32)
    throw ConfigError(to, "images have bytes in 1 or 3 channels; samples here have shape " +
                              to_string(field.sample_shape) + (field.stored == Stored::float32 ? " of floats" : ""));
  if (fs::path(to).extension().empty())
    throw ConfigError(to, "would be the list of images and their folder", "name the list, such as train.txt");
}

std::string ImageWriter::part(i64 block) const { return folder_ + "/block_" + std::to_string(block) + ".part"; }

bool ImageWriter::is_done(i64 block) const { return exists(part(block)); }

std::string ImageWriter::write_image(i64 sample, int label, const std::uint8_t* from, i64 bytes) const {
  const auto& field = set_.fields()[0];
  const auto size = static_cast<std::size_t>(bytes);
  std::vector<std::uint8_t> png;
  if (field.stored == Stored::uint8) {
    Image image{static_cast<int>(field.sample_shape[0]), static_cast<int>(field.sample_shape[1]),
                static_cast<int>(field.sample_shape[2]), std::vector<std::uint8_t>(from, from + size)};
    if (image.channels == 3) swap_red_and_blue(image.values.data(), field.sample_shape[1] * field.sample_shape[2]);
    png = encode_png(image);
  }
  const bool jpeg = png.empty() && size > 1 && from[0] == 0xFF;
  char name[64];
  std::snprintf(name, sizeof name, "%d/%010lld.%s", label, static_cast<long long>(sample), jpeg ? "jpg" : "png");
  make_folders(folder_ + "/" + std::to_string(label));
  write_image_file(folder_ + "/" + name, png.empty() ? from : png.data(), png.empty() ? size : png.size());
  return fs::path(folder_).filename().string() + "/" + name;
}

void ImageWriter::write(i64 first, i64 count, const std::vector<Values>& values) {
  const auto& field = set_.fields()[0];
  std::vector<std::string> lines(static_cast<std::size_t>(count));
  workers_.for_each(count, [&](i64 i) {
    const auto at = static_cast<std::size_t>(i);
    const bool encoded = field.stored == Stored::encoded;
    const i64 begin = encoded ? values[0].begin[at] : i * field.sample_bytes();
    const i64 bytes = encoded ? values[0].begin[at + 1] - begin : field.sample_bytes();
    const int label = label_of(values[1], i, 1 << 24, to_);
    lines[at] =
        write_image(first + i, label, values[0].bytes.data() + begin, bytes) + " " + std::to_string(label) + "\n";
  });
  for (const auto& line : lines) lines_ += line;
}

void ImageWriter::finish_block(i64 block) {
  NewFile file(part(block));
  file.write(lines_.data(), static_cast<i64>(lines_.size()));
  file.replace();
  lines_.clear();
}

void ImageWriter::finish() {
  if (ranks_.rank() == 0) {
    const i64 blocks = (set_.samples() + block() - 1) / block();
    NewFile list(to_);
    for (i64 b = 0; b < blocks; ++b) {
      const std::string lines = read_file(part(b));
      list.write(lines.data(), static_cast<i64>(lines.size()));
    }
    list.create();
    std::error_code none;
    for (i64 b = 0; b < blocks; ++b) fs::remove(part(b), none);
    note_.remove();
  }
  meet(ranks_);
}

void GrowingFile::append(const void* from, i64 bytes) {
  buffer_.append(static_cast<const char*>(from), static_cast<std::size_t>(bytes));
  if (buffer_.size() >= buffer_bytes) flush();
}

void GrowingFile::flush() {
  file_.write(buffer_.data(), static_cast<i64>(buffer_.size()));
  buffer_.clear();
}

void GrowingFile::finish(bool replace) {
  flush();
  replace ? file_.replace() : file_.create();
}

void SerialWriter::finish() {
  if (ranks_.rank() == 0) {
    name_files();
    note_.remove();
  }
  meet(ranks_);
}

void IdxWriter::expect_fits(const DataSet& set, const std::string& to) {
  expect_bytes(set, {1, 0, 0}, to, "IDX holds grey images");
  idx_labels_of(to);
}

IdxWriter::IdxWriter(const DataSet& set, const std::string& to, const WritePlan& plan, const Replicas& ranks)
    : SerialWriter(set, to, plan, ranks, {idx_labels_of(to)}) {
  if (ranks.rank() != 0) return;
  images_ = std::make_unique<GrowingFile>(to);
  labels_ = std::make_unique<GrowingFile>(idx_labels_of(to));
  const auto word = [](GrowingFile& file, i64 value) {
    const std::uint8_t bytes[] = {static_cast<std::uint8_t>(value >> 24), static_cast<std::uint8_t>(value >> 16),
                                  static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)};
    file.append(bytes, 4);
  };
  const Shape& shape = set.fields()[0].sample_shape;
  for (const i64 value : {i64{0x803}, set.samples(), shape[1], shape[2]}) word(*images_, value);
  for (const i64 value : {i64{0x801}, set.samples()}) word(*labels_, value);
}

void IdxWriter::write(i64 first, i64 count, const std::vector<Values>& values) {
  images_->append(values[0].bytes.data(), static_cast<i64>(values[0].bytes.size()));
  for (i64 i = 0; i < count; ++i) {
    const auto label = static_cast<std::uint8_t>(label_of(values[1], i, 255, set_.where(first + i)));
    labels_->append(&label, 1);
  }
}

void IdxWriter::name_files() {
  labels_->finish(goes_on());  // an earlier try may have named them
  images_->finish();
}

void CifarWriter::expect_fits(const DataSet& set, const std::string& to) {
  expect_bytes(set, {3, 32, 32}, to, "CIFAR-10's format holds images of 3 x 32 x 32 bytes");
}

CifarWriter::CifarWriter(const DataSet& set, const std::string& to, const WritePlan& plan, const Replicas& ranks)
    : SerialWriter(set, to, plan, ranks, {}) {
  if (ranks.rank() == 0) file_ = std::make_unique<GrowingFile>(to);
}

void CifarWriter::write(i64 first, i64 count, const std::vector<Values>& values) {
  std::uint8_t record[CifarSet::record_bytes];
  constexpr i64 image = CifarSet::record_bytes - 1;
  for (i64 i = 0; i < count; ++i) {
    record[0] = static_cast<std::uint8_t>(label_of(values[1], i, 255, set_.where(first + i)));
    std::copy_n(values[0].bytes.data() + i * image, image, record + 1);
    swap_red_and_blue(record + 1, image / 3);
    file_->append(record, CifarSet::record_bytes);
  }
}

}  // namespace cortado
