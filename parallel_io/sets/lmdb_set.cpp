#include "parallel_io/sets/lmdb_set.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "parallel_io/sets/datum.h"

namespace cortado {
namespace {
constexpr std::size_t most_keys = 1 << 16;

void check(int status, const std::string& folder, const char* what) {
  if (status != MDB_SUCCESS)
    throw FileError(folder, std::string(what) + ": " + mdb_strerror(status), "it should be an LMDB folder of Datum");
}
}  // namespace

class LmdbSet::Walk {
 public:
  explicit Walk(const LmdbSet& set) : set_(set) {
    check(mdb_txn_begin(set.environment_, nullptr, MDB_RDONLY, &transaction_), set.folder_, "cannot be read");
    const int status = mdb_cursor_open(transaction_, set.table_, &cursor_);
    if (status != MDB_SUCCESS) mdb_txn_abort(transaction_);
    check(status, set.folder_, "cannot be read");
  }
  ~Walk() {
    mdb_cursor_close(cursor_);
    mdb_txn_abort(transaction_);
  }
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  /// Goes to a sample, which is cheap when it follows the last one.
  void go(i64 sample) {
    if (at_ < 0 || sample < at_ || sample / set_.stride_ != at_ / set_.stride_) {
      const std::string& near = set_.keys_[static_cast<std::size_t>(sample / set_.stride_)];
      key = {near.size(), const_cast<char*>(near.data())};
      step(MDB_SET_KEY, sample);
      at_ = sample / set_.stride_ * set_.stride_;
    }
    for (; at_ < sample; ++at_) step(MDB_NEXT, sample);
  }
  bool next() {
    const int status = mdb_cursor_get(cursor_, &key, &value, MDB_NEXT);
    if (status == MDB_NOTFOUND) return false;
    check(status, set_.folder_, "is damaged");
    return true;
  }
  std::string key_text() const { return {static_cast<const char*>(key.mv_data), key.mv_size}; }

  MDB_val key{}, value{};

 private:
  void step(MDB_cursor_op operation, i64 sample) {
    check(mdb_cursor_get(cursor_, &key, &value, operation), set_.folder_ + ", sample " + std::to_string(sample),
          "is damaged");
  }
  const LmdbSet& set_;
  MDB_txn* transaction_ = nullptr;
  MDB_cursor* cursor_ = nullptr;
  i64 at_ = -1;
};

LmdbSet::LmdbSet(const std::string& folder, const OpenOptions& options) : folder_(folder) {
  check(mdb_env_create(&environment_), folder, "cannot be opened");
  try {
    // LMDB makes it as large as the data: Caffe's tools ask for a terabyte, which address spaces with a limit refuse.
    check(mdb_env_set_mapsize(environment_, 1), folder, "cannot be opened");
    check(mdb_env_open(environment_, folder.c_str(), MDB_RDONLY | MDB_NOLOCK | MDB_NOTLS, 0), folder,
          "cannot be opened");
    check_whole();
    MDB_txn* transaction = nullptr;
    check(mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &transaction), folder, "cannot be read");
    const int status = mdb_dbi_open(transaction, nullptr, 0, &table_);
    mdb_txn_commit(transaction);
    check(status, folder, "cannot be read");
    index_keys();
    read_shape(options.channels);
  } catch (...) {
    mdb_env_close(environment_);
    throw;
  }
}

LmdbSet::~LmdbSet() { mdb_env_close(environment_); }

/// Pages that the file lacks would end the program when they are touched.
void LmdbSet::check_whole() {
  MDB_envinfo info{};
  MDB_stat stat_of{};
  check(mdb_env_info(environment_, &info), folder_, "cannot be read");
  check(mdb_env_stat(environment_, &stat_of), folder_, "cannot be read");
  struct stat status {};
  const std::string file = folder_ + "/data.mdb";
  if (::stat(file.c_str(), &status) != 0) throw FileError(file, "has no size");
  const i64 due = static_cast<i64>(info.me_last_pgno + 1) * stat_of.ms_psize;
  if (status.st_size < due)
    throw FileError(
        file, "is truncated: it has " + std::to_string(status.st_size) + " bytes, " + std::to_string(due) + " are due");
  samples_ = static_cast<i64>(stat_of.ms_entries);
  if (samples_ == 0) throw FileError(folder_, "holds no samples");
}

void LmdbSet::index_keys() {
  stride_ = (samples_ + static_cast<i64>(most_keys) - 1) / static_cast<i64>(most_keys);
  Walk walk(*this);
  for (i64 i = 0; i < samples_; ++i) {
    if (!walk.next())
      throw FileError(folder_,
                      "is damaged: it has " + std::to_string(i) + " samples, " + std::to_string(samples_) + " are due");
    if (i % stride_ == 0) keys_.push_back(walk.key_text());
  }
}

void LmdbSet::read_shape(int channels) {
  Walk walk(*this);
  walk.go(0);
  const Where place = [&] { return where(0) + " (key '" + walk.key_text() + "')"; };
  caffe::Datum first;
  parse_datum(walk.value.mv_data, walk.value.mv_size, place, first);
  fields_ = {field_of(first, place, channels), {"label", {}, Stored::float32}};
}

std::string LmdbSet::where(i64 sample) const { return folder_ + ", sample " + std::to_string(sample); }

void LmdbSet::read(const i64* indices, i64 count, std::vector<Values>& to) const {
  to.resize(2);
  const Field& field = fields_[0];
  std::vector<i64> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), i64{0});
  const bool encoded = field.stored == Stored::encoded;
  // Images of unknown sizes go one after another; others are read in the order in which they are stored.
  if (!encoded) std::sort(order.begin(), order.end(), [&](i64 a, i64 b) { return indices[a] < indices[b]; });
  to[0].begin.assign(encoded ? 1 : 0, 0);
  to[0].bytes.resize(encoded ? 0 : static_cast<std::size_t>(count * field.sample_bytes()));
  to[1].bytes.resize(static_cast<std::size_t>(count) * sizeof(float));
  Walk walk(*this);
  caffe::Datum datum;
  i64 sample = 0;
  const Where place = [&] { return where(sample) + " (key '" + walk.key_text() + "')"; };
  for (const i64 slot : order) {
    sample = indices[slot];
    walk.go(sample);
    parse_datum(walk.value.mv_data, walk.value.mv_size, place, datum);
    const DatumValues values = values_of(datum, field, place);
    if (encoded) {
      const auto* const from = static_cast<const std::uint8_t*>(values.data);
      to[0].bytes.insert(to[0].bytes.end(), from, from + values.bytes);
      to[0].begin.push_back(static_cast<i64>(to[0].bytes.size()));
    } else {
      std::memcpy(to[0].bytes.data() + slot * values.bytes, values.data, static_cast<std::size_t>(values.bytes));
    }
    const auto label = static_cast<float>(datum.label());
    std::memcpy(to[1].bytes.data() + slot * 4, &label, 4);
  }
}

}  // namespace cortado
