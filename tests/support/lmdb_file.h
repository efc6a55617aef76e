#pragma once
#include <lmdb.h>

#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/types.h"
#include "core/formats/caffe.pb.h"

namespace cortado::test {

/// An LMDB folder of these samples, as Caffe's tools and users' scripts write one.
inline void write_lmdb(const std::string& folder, const std::vector<caffe::Datum>& samples) {
  std::filesystem::create_directories(folder);
  MDB_env* environment = nullptr;
  MDB_txn* transaction = nullptr;
  MDB_dbi table = 0;
  mdb_env_create(&environment);
  mdb_env_set_mapsize(environment, std::size_t{1} << 26);
  bool good = mdb_env_open(environment, folder.c_str(), MDB_NOSYNC, 0664) == 0 &&
              mdb_txn_begin(environment, nullptr, 0, &transaction) == 0 &&
              mdb_dbi_open(transaction, nullptr, 0, &table) == 0;
  for (std::size_t i = 0; i < samples.size() && good; ++i) {
    char name[24];
    std::snprintf(name, sizeof name, "%08zu", i);
    std::string text = samples[i].SerializeAsString();
    MDB_val key{8, name}, value{text.size(), text.data()};
    good = mdb_put(transaction, table, &key, &value, 0) == 0;
  }
  good = good && mdb_txn_commit(transaction) == 0;
  mdb_env_close(environment);
  if (!good) throw std::runtime_error(folder + " cannot be written");
}

/// A Datum of bytes.
inline caffe::Datum datum_of(const std::vector<i64>& shape, const std::vector<float>& values, int label = 0) {
  caffe::Datum datum;
  datum.set_channels(static_cast<int>(shape[0]));
  datum.set_height(static_cast<int>(shape[1]));
  datum.set_width(static_cast<int>(shape[2]));
  std::string bytes;
  for (const float value : values) bytes += static_cast<char>(static_cast<unsigned char>(value));
  datum.set_data(bytes);
  datum.set_label(label);
  return datum;
}

}  // namespace cortado::test
