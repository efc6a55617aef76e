#include "parallel_io/hdf5_list.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/base/error.h"

namespace cortado {
namespace {

std::vector<std::string> read_lines(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw FileError(file, "cannot be read", "it should list HDF5 files, one per line");
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (!line.empty()) lines.push_back(line);
  }
  if (lines.empty()) throw FileError(file, "lists no files", "it should list HDF5 files, one per line");
  return lines;
}

std::string beside(const std::string& path, const std::string& list_file) {
  namespace fs = std::filesystem;
  if (fs::path(path).is_absolute() || fs::exists(path)) return path;
  const fs::path near = fs::path(list_file).parent_path() / path;
  return fs::exists(near) ? near.string() : path;
}

i64 floats_of(const BatchSource::Field& field) { return count_of(field.sample_shape); }

}  // namespace

Hdf5List::Hdf5List(const std::string& list_file, const std::vector<std::string>& fields, i64 cache_bytes) {
  for (const auto& path : read_lines(list_file)) add_file(beside(path, list_file), fields);
  if (samples() == 0) throw FileError(list_file, "the files it lists hold no samples");
  i64 bytes = 0;
  for (const auto& field : fields_) bytes += samples() * floats_of(field) * static_cast<i64>(sizeof(float));
  if (bytes > cache_bytes) return;
  std::vector<std::vector<float>> all;
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    all.emplace_back(static_cast<std::size_t>(samples() * floats_of(fields_[f])));
    read_files(f, 0, samples(), all.back().data());
  }
  cache_ = std::move(all);
  sets_.clear();
  files_.clear();
}

void Hdf5List::add_file(const std::string& name, const std::vector<std::string>& wanted) {
  files_.emplace_back(name);
  std::vector<hdf5::DataSet> sets;
  for (std::size_t f = 0; f < wanted.size(); ++f) {
    sets.emplace_back(files_.back(), wanted[f]);
    const auto& set = sets.back();
    if (set.samples() != sets[0].samples())
      throw FileError(name, "data set '" + wanted[f] + "' has " + std::to_string(set.samples()) + " samples, '" +
                                wanted[0] + "' has " + std::to_string(sets[0].samples()));
    if (files_.size() == 1)
      fields_.push_back({wanted[f], set.sample_shape()});
    else if (set.sample_shape() != fields_[f].sample_shape)
      throw FileError(name, "samples of '" + wanted[f] + "' have shape " + to_string(set.sample_shape()) +
                                ", those of " + files_[0].name() + " have " + to_string(fields_[f].sample_shape));
  }
  first_.push_back(first_.back() + (sets.empty() ? 0 : sets[0].samples()));
  sets_.push_back(std::move(sets));
}

/// Samples [first, first + count), which may cross from file to file.
void Hdf5List::read_files(std::size_t field, i64 first, i64 count, float* to) const {
  while (count > 0) {
    const auto file =
        static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), first) - first_.begin()) - 1;
    const i64 here = std::min(count, first_[file + 1] - first);
    sets_[file][field].read(first - first_[file], here, to);
    first += here;
    count -= here;
    to += here * floats_of(fields_[field]);
  }
}

void Hdf5List::read(const i64* indices, i64 count, const std::vector<float*>& to) {
  for (i64 i = 0; i < count;) {
    i64 run = 1;
    while (i + run < count && indices[i + run] == indices[i] + run) ++run;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      const i64 size = floats_of(fields_[f]);
      float* const place = to[f] + i * size;
      if (cache_.empty())
        read_files(f, indices[i], run, place);
      else
        std::copy_n(cache_[f].data() + indices[i] * size, run * size, place);
    }
    i += run;
  }
}

}  // namespace cortado
