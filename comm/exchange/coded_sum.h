#pragma once
#include <vector>

#include "comm/codec/codec.h"
#include "comm/collective/circulant.h"
#include "comm/exchange/code_memory.h"
#include "comm/job_team.h"

namespace cortado {

/// Sums over ranks that travel as codes. Every rank owns a part of the values, whole blocks of the codec:
/// - once: each rank encodes its values once and sends each part to its owner. The owner adds up all decoded codes, its
///   own among them, in order of their owners.
/// - hops: partial sums travel as in the allreduce `circulant`. At every hop they are decoded, added and encoded again.
///   Values are coded ceil(log2 p) times on their way, but a rank sends as few messages.
///
/// Owners then encode their sums, and all ranks decode the same codes, so they agree in every bit.
class CodedSum {
 public:
  enum class Way { once, hops };
  /// Borrows all. `group` codes. Throws ConfigError for a codec of weights.
  CodedSum(JobTeam& job, CoreGroup& group, const Codec& codec, Way way);
  bool keeps_state() const { return codec_.needs_state(); }
  /// The size of this rank's part of so many values.
  i64 own_part(i64 values) const;
  /// Cluster memory holds the sum of `count` decoded values afterwards. For codecs with state, `left_out` has `count`
  /// values, and `left_out_of_sums` own_part(count).
  void run(float* values, i64 count, float* left_out, float* left_out_of_sums);

 private:
  /// Neighbouring parts: the places of their values and their codes. Together they encode to no more bytes than apart.
  struct Range {
    i64 first, count;
    i64 place;        ///< place of the first part's code
    i64 parts_bytes;  ///< bytes of room for each part's code
  };

  i64 begin(i64 values, int part) const;
  Range parts(int first, int last) const;
  float* left_out(const Range& range) const { return left_out_ != nullptr ? left_out_ + range.first : nullptr; }
  i64 bytes_of(const Range& range) const { return codec_.encoded_bytes(range.count); }
  /// The ranges of parts whose numbers wrap round, at most two.
  std::vector<Range> ranges(int first, int last) const;
  void reduce_once();
  void reduce_by_hops();
  void share(float* left_out_of_sums);

  JobTeam& job_;
  CoreGroup& group_;
  const Codec& codec_;
  const Way way_;
  const CirculantSchedule schedule_;
  const int ranks_;
  // Of the run:
  float* values_ = nullptr;
  float* left_out_ = nullptr;
  i64 count_ = 0;
  i64 part_bytes_ = 0;  // room for the code of a part
  CodeMemory codes_, arrived_;
};

/// The errors of codes with state, which are added to the next values: those of values, then those of sums of the own
/// parts. Begins as zeros.
class LeftOut {
 public:
  LeftOut() = default;
  LeftOut(CoreGroup& group, i64 values, i64 sums);
  float* of_values(i64 first) const { return memory_.get() != nullptr ? memory_.as<float>() + first : nullptr; }
  float* of_sums(i64 first) const { return of_values(values_ + first); }
  i64 size() const { return static_cast<i64>(memory_.bytes() / 4); }
  /// All of them, for snapshots.
  std::vector<float> read(CoreGroup& group) const;
  /// Returns false, and changes nothing, if there are not as many.
  bool write(CoreGroup& group, const std::vector<float>& values);

 private:
  i64 values_ = 0;
  ClusterMemory memory_;
};

}  // namespace cortado
