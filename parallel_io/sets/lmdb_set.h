#pragma once
#include <lmdb.h>

#include "parallel_io/sets/data_set.h"

namespace cortado {

/// Caffe's LMDB folders of Datum messages, in order of their keys. Opened read-only and without locks, as shared file
/// systems need it: nobody may write at the same time. Fields are data (bytes, floats or encoded images, as the first
/// Datum has it) and label.
class LmdbSet : public DataSet {
 public:
  LmdbSet(const std::string& folder, const OpenOptions& options);
  ~LmdbSet() override;

  void read(const i64* indices, i64 count, std::vector<Values>& to) const override;
  std::string where(i64 sample) const override;

 private:
  /// A read transaction and a cursor at some sample.
  class Walk;
  void check_whole();
  void index_keys();
  void read_shape(int channels);

  std::string folder_;
  MDB_env* environment_ = nullptr;
  MDB_dbi table_ = 0;
  i64 stride_ = 1;                 // samples between remembered keys, so that the index stays small
  std::vector<std::string> keys_;  // of samples 0, stride, 2 stride, ...
};

}  // namespace cortado
