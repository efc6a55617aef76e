#pragma once
#include <lmdb.h>

#include "parallel_io/convert/set_writer.h"

namespace cortado {

/// Writes Caffe's LMDB: a folder, keys "0000000000", "0000000001", ... and Datum messages. One rank writes.
class LmdbWriter : public SetWriter {
 public:
  /// Throws ConfigError where the format cannot hold the set, or `to` is no name for it.
  static void expect_fits(const DataSet& set, const std::string& to);
  LmdbWriter(const DataSet& set, const std::string& to, const WritePlan& plan, const Replicas& ranks);
  ~LmdbWriter() override;
  i64 block() const override { return 1024; }
  bool is_done(i64 block) const override;
  void write(i64 first, i64 count, const std::vector<Values>& values) override;
  void finish_block(i64 /*block*/) override {}
  void finish() override;

 private:
  void check(int status, const char* what) const;
  void expect_room() const;
  std::string unfinished() const { return to_ + ".unfinished"; }

  const DataSet& set_;
  const std::string to_;
  const Replicas& ranks_;
  Unfinished note_;
  MDB_env* environment_ = nullptr;  // on rank 0
  MDB_dbi table_ = 0;
  i64 written_ = 0;
};

}  // namespace cortado
