#pragma once
#include <functional>

#include "core/base/file.h"
#include "core/net/replicas.h"
#include "parallel_io/sets/data_set.h"

namespace cortado {

/// Writes a data set in blocks of neighbouring samples, so that a conversion that was killed goes on with the first
/// block that is missing. Until `finish` nothing lies under the set's own name: an unfinished set cannot be mistaken.
class SetWriter {
 public:
  virtual ~SetWriter() = default;
  virtual i64 block() const = 0;  ///< samples of a block; the last one may be short
  /// Whether the block was written before, by a conversion that did not finish.
  virtual bool is_done(i64 block) const = 0;
  /// Whether blocks may be written in any order by many ranks. Otherwise one writes all in order.
  virtual bool takes_many() const { return false; }
  /// Samples [first, first + count) of one block, all fields, as they are to be stored; in order within the block.
  virtual void write(i64 first, i64 count, const std::vector<Values>& values) = 0;
  virtual void finish_block(i64 block) = 0;
  /// All blocks are there: the set gets its name. Collective.
  virtual void finish() = 0;
};

/// Formats to write.
enum class Format { hdf5, striped, lmdb, images, idx, cifar };

struct WriteOptions {
  Format format = Format::hdf5;
  i64 stripes = 32;                   ///< files of a striped set (swCaffe section V-B)
  i64 stripe_bytes = i64{256} << 20;  ///< of data that lie together in a stripe
  std::vector<std::string> folders;   ///< where stripes go in turn; none: a folder beside the master
  std::string from;                   ///< what is converted, and how: another text does not go on with this one's work
  bool only_fields = false;           ///< of hdf5: neither checksums nor sums are left in the finished file
  /// Of hdf5 and striped: open files that take the stripes, instead of files with names; of striped at most as many
  /// stripes. `to` is then the path_of a file, which is written over and of hdf5 the only stripe. Nothing is noted.
  const std::vector<Descriptor>* unnamed = nullptr;
};

/// A writer of `to` for what `set` holds. Collective. Throws ConfigError if the format cannot hold it, FileError if
/// `to` is there already or holds the unfinished work of another conversion.
std::unique_ptr<SetWriter> make_writer(const DataSet& set, const std::string& to, const WriteOptions& options,
                                       const Replicas& ranks);

using Progress = std::function<void(i64 done, i64 total)>;

/// Reads all of `set` and writes it; ranks share the blocks where the writer takes many. Collective.
void write_set(const DataSet& set, SetWriter& to, const Replicas& ranks, const Progress& progress = {});

/// Remembers beside an unfinished set what is being written: TO.part, a text.
class Unfinished {
 public:
  /// On rank 0, others wait: makes the note, or finds one of the same text. `works` are names that the conversion will
  /// take besides, all of one format in an order of its own. Collective. Throws FileError where they are taken.
  Unfinished(const std::string& to, const std::string& plan, const Replicas& ranks,
             const std::vector<std::string>& works);
  bool goes_on() const { return goes_on_; }  ///< whether there was one
  void remove() const;                       ///< on rank 0
  static std::string name(const std::string& to) { return to + ".part"; }

 private:
  static bool expect_free(const std::string& to, const std::string& plan, const std::vector<std::string>& works);
  std::string to_;
  bool goes_on_ = false;
};

/// Waits for all ranks.
void meet(const Replicas& ranks);

}  // namespace cortado
