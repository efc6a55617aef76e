#include "parallel_io/convert/lmdb_writer.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/formats/caffe.pb.h"
#include "parallel_io/sets/lmdb_file.h"
#include "parallel_io/sets/raw_file.h"

namespace cortado {
namespace {
namespace fs = std::filesystem;
constexpr std::size_t map_bytes = std::size_t{1} << 40;  // of address space, which costs nothing; as Caffe does

/// Labels are whole numbers there.
int label_of(const Values& labels, i64 i, const DataSet& set, i64 sample) {
  float label = 0;
  std::memcpy(&label, labels.bytes.data() + i * 4, 4);
  if (std::floor(label) != label || std::fabs(label) > 16777216.0f)
    throw FileError(set.where(sample), "has the label " + std::to_string(label) + ", this format takes whole numbers");
  return static_cast<int>(label);
}
}  // namespace

void LmdbWriter::expect_fits(const DataSet& set, const std::string& to) {
  if (set.fields()[0].stored != Stored::encoded && set.fields()[0].sample_shape.size() != 3)
    throw ConfigError(to, "a Datum has channels, height and width; samples here have shape " +
                              to_string(set.fields()[0].sample_shape));
}

LmdbWriter::LmdbWriter(const DataSet& set, const std::string& to, const WritePlan& plan, const Replicas& ranks)
    : set_(set),
      to_(to),
      ranks_(ranks),
      note_(to, plan, ranks, {unfinished(), unfinished() + "/data.mdb", unfinished() + "/lock.mdb"}) {
  if (ranks.rank() != 0) return;
  make_folders(unfinished());
  // The library would take a damaged file as it is.
  if (const std::string begun = unfinished() + "/data.mdb"; is_taken(begun)) open_own(begun), LmdbFile(begun);
  check(mdb_env_create(&environment_), "cannot be made");
  check(mdb_env_set_mapsize(environment_, map_bytes), "cannot be made");
  // The disk is asked to keep it once, in finish: until then the set has no name.
  check(mdb_env_open(environment_, unfinished().c_str(), MDB_NOSYNC, 0664), "cannot be made");
  MDB_txn* transaction = nullptr;
  check(mdb_txn_begin(environment_, nullptr, 0, &transaction), "cannot be written");
  check(mdb_dbi_open(transaction, nullptr, 0, &table_), "cannot be written");
  MDB_stat status{};
  mdb_stat(transaction, table_, &status);
  written_ = static_cast<i64>(status.ms_entries);
  check(mdb_txn_commit(transaction), "cannot be written");
}

LmdbWriter::~LmdbWriter() {
  if (environment_ != nullptr) mdb_env_close(environment_);
}

/// The library calls every short write an input/output error: the system tells why of the next one. Throws FileError.
void LmdbWriter::expect_room() const {
  constexpr i64 piece = 1 << 20, most = 64 * piece;  // more than what one transaction may have missed
  const std::string file = unfinished() + "/data.mdb";
  if (!exists(file)) return;
  const RawFile data(file, RawFile::For::writing);
  const i64 end = data.bytes();
  const std::vector<char> zeros(piece);
  std::string problem;
  try {
    for (i64 at = end; at < end + most; at += piece) data.write(at, piece, zeros.data());
  } catch (const FileError& error) { problem = error.what(); }
  std::error_code none;
  fs::resize_file(file, static_cast<std::uintmax_t>(end), none);
  if (!problem.empty()) throw FileError("", problem);
}

void LmdbWriter::check(int status, const char* what) const {
  if (status == EIO) expect_room();
  if (status != MDB_SUCCESS)
    throw FileError(to_, std::string(what) + ": " + mdb_strerror(status), "check the folder and the space left");
}

bool LmdbWriter::is_done(i64 b) const { return written_ >= std::min((b + 1) * block(), set_.samples()); }

void LmdbWriter::write(i64 first, i64 count, const std::vector<Values>& values) {
  const auto& field = set_.fields()[0];
  MDB_txn* transaction = nullptr;
  check(mdb_txn_begin(environment_, nullptr, 0, &transaction), "cannot be written");
  caffe::Datum datum;
  std::string bytes;
  for (i64 i = 0; i < count; ++i) {
    const bool encoded = field.stored == Stored::encoded;
    const auto at = static_cast<std::size_t>(i);
    const i64 begin = encoded ? values[0].begin[at] : i * field.sample_bytes();
    const i64 size = encoded ? values[0].begin[at + 1] - begin : field.sample_bytes();
    const auto* const from = values[0].bytes.data() + begin;
    datum.Clear();
    if (encoded) {
      datum.set_encoded(true);
    } else {
      datum.set_channels(static_cast<int>(field.sample_shape[0]));
      datum.set_height(static_cast<int>(field.sample_shape[1]));
      datum.set_width(static_cast<int>(field.sample_shape[2]));
    }
    if (field.stored == Stored::float32) {
      datum.mutable_float_data()->Resize(static_cast<int>(size / 4), 0);
      std::memcpy(datum.mutable_float_data()->mutable_data(), from, static_cast<std::size_t>(size));
    } else {
      datum.set_data(from, static_cast<std::size_t>(size));
    }
    datum.set_label(label_of(values[1], i, set_, first + i));
    datum.SerializeToString(&bytes);
    char name[24];
    const int length = std::snprintf(name, sizeof name, "%010lld", static_cast<long long>(first + i));
    MDB_val key{static_cast<std::size_t>(length), name}, value{bytes.size(), bytes.data()};
    check(mdb_put(transaction, table_, &key, &value, 0), "cannot be written");
  }
  check(mdb_txn_commit(transaction), "cannot be written");
}

void LmdbWriter::finish() {
  if (ranks_.rank() == 0) {
    check(mdb_env_sync(environment_, 1), "cannot be written");
    mdb_env_close(environment_);
    environment_ = nullptr;
    std::error_code none;
    fs::remove(fs::path(unfinished()) / "lock.mdb", none);
    if (is_taken(to_) || std::rename(unfinished().c_str(), to_.c_str()) != 0)
      throw FileError(to_, "cannot be renamed from " + unfinished());
    note_.remove();
  }
  meet(ranks_);
}

}  // namespace cortado
