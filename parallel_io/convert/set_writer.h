#pragma once
#include <functional>
#include <optional>

#include "core/base/file.h"
#include "core/base/leftovers.h"
#include "core/net/replicas.h"
#include "parallel_io/sets/data_set.h"

namespace cortado {

/// Writes a data set in blocks of neighbouring samples, so that a killed conversion goes on with the first missing
/// block. Until `finish` nothing lies under the set's own name, so nobody mistakes an unfinished set for a whole one.
class SetWriter {
 public:
  virtual ~SetWriter() = default;
  virtual i64 block() const = 0;  ///< samples of a block; the last one may be short
  /// True if an earlier conversion, which did not finish, has written the block.
  virtual bool is_done(i64 block) const = 0;
  /// True if many ranks may write blocks in any order. Otherwise one rank writes all in order.
  virtual bool takes_many() const { return false; }
  /// Writes samples [first, first + count) of one block, all fields, in stored form; calls come in order within the
  /// block.
  virtual void write(i64 first, i64 count, const std::vector<Values>& values) = 0;
  virtual void finish_block(i64 block) = 0;
  /// Gives the set its name, when all blocks are written. Collective.
  virtual void finish() = 0;
};

/// The formats that conversions write.
enum class Format { hdf5, striped, lmdb, images, idx, cifar };

struct WriteOptions {
  Format format = Format::hdf5;
  i64 stripes = 32;                   ///< files of a striped set (swCaffe section V-B)
  i64 stripe_bytes = i64{256} << 20;  ///< bytes of data that lie together in a stripe
  std::vector<std::string> folders;   ///< folders that take stripes in turn; empty means a folder beside the master
  /// The source and the preparation. A conversion with another text does not continue this one's work.
  std::string from;
  /// False, for hdf5 and lmdb alone: what is unfinished when an error or a signal ends the work is removed. SIGKILL
  /// leaves it, and then the same command goes on.
  bool keeps_unfinished = true;
  bool only_fields = false;  ///< hdf5: the finished file has neither checksums nor sums
  /// hdf5 and striped: open files that take the stripes, instead of files with names; for striped at most as many as
  /// stripes. `to` is then the path_of a file, which is overwritten; for hdf5 it is the only stripe. No note of
  /// unfinished work is made. nullptr means files with names.
  const std::vector<Descriptor>* unnamed = nullptr;
};

/// A conversion in words, which one that goes on with its work has too; and WriteOptions::keeps_unfinished.
struct WritePlan {
  std::string text;
  bool keeps_unfinished = true;
};

/// Makes a writer of `to` for the samples of `set`. Throws ConfigError if the format cannot hold them, FileError if
/// `to` exists or holds the unfinished work of another conversion. Collective.
std::unique_ptr<SetWriter> make_writer(const DataSet& set, const std::string& to, const WriteOptions& options,
                                       const Replicas& ranks);

using Progress = std::function<void(i64 done, i64 total)>;

/// Reads all of `set` and writes it. Ranks share the blocks where the writer takes many. Collective.
void write_set(const DataSet& set, SetWriter& to, const Replicas& ranks, const Progress& progress = {});

/// A note beside an unfinished set that describes the conversion: TO.part, a text.
class Unfinished {
 public:
  /// Rank 0 makes the note, or finds one of the same text; others wait. `works` are further names that the conversion
  /// takes, in the format's own order, folders before what lies in them. Throws FileError where names are taken.
  /// Collective.
  Unfinished(const std::string& to, const WritePlan& plan, const Replicas& ranks,
             const std::vector<std::string>& works);
  bool goes_on() const { return goes_on_; }  ///< true if there was a note
  void remove() const;                       ///< on rank 0
  static std::string name(const std::string& to) { return to + ".part"; }

 private:
  static bool expect_free(const std::string& to, const std::string& plan, const std::vector<std::string>& works);
  std::string to_;
  bool goes_on_ = false;
  std::optional<Leftovers> leftovers_;
};

/// Waits for all ranks.
void meet(const Replicas& ranks);

}  // namespace cortado
