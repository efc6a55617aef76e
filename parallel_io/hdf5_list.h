#pragma once
#include "core/data/batch_source.h"
#include "parallel_io/hdf5.h"

namespace cortado {

/// Samples of several HDF5 files, one after another, as a list file names them (Caffe's HDF5Data source): a path per
/// line, taken from the working directory or, if it is not there, from the list's own folder. Data sets of all files
/// must have equal sample shapes. Sets of up to `cache_bytes` are read once and kept; larger ones are read as samples
/// are asked for, neighbours in one read.
class Hdf5List : public BatchSource {
 public:
  static constexpr i64 default_cache_bytes = i64{1} << 30;
  Hdf5List(const std::string& list_file, const std::vector<std::string>& fields, i64 cache_bytes = default_cache_bytes);

  const std::vector<Field>& fields() const override { return fields_; }
  i64 samples() const override { return first_.back(); }
  void read(const i64* indices, i64 count, const std::vector<float*>& to) override;

 private:
  void add_file(const std::string& name, const std::vector<std::string>& wanted);
  void read_files(std::size_t field, i64 first, i64 count, float* to) const;

  std::vector<Field> fields_;
  std::vector<hdf5::File> files_;
  std::vector<std::vector<hdf5::DataSet>> sets_;  // [file][field]
  std::vector<i64> first_ = {0};                  // number of each file's first sample, and the total
  std::vector<std::vector<float>> cache_;         // [field]; empty: read from files
};

}  // namespace cortado
