#pragma once
#include "parallel_io/sets/data_set.h"
#include "parallel_io/sets/lmdb_file.h"

namespace cortado {

/// Caffe's LMDB folders of Datum messages, or an LMDB in one file, in order of their keys. It reads without locks, as
/// shared file systems need it: nobody may write at the same time. Fields are data (bytes, floats or encoded images, as
/// the first Datum has it) and label.
class LmdbSet : public DataSet {
 public:
  LmdbSet(const std::string& path, const OpenOptions& options);

  void read(const i64* indices, i64 count, std::vector<Values>& to) const override;
  std::string where(i64 sample) const override;

 private:
  std::string path_;
  LmdbFile file_;
  const bool any_shape_;
};

}  // namespace cortado
