#pragma once
#include <vector>

#include "comm/codec/codec.h"
#include "comm/collective/circulant.h"
#include "comm/exchange/code_memory.h"
#include "comm/job_team.h"
#include "core/solver/gradient_exchange.h"

namespace cortado {

/// Gradients sent as codes, after backward. Every rank owns a part of the arena, whole blocks of the codec: - once:
/// each rank encodes its gradients once and sends each part to its owner. The owner adds up all decoded codes, its
///   own among them.
/// - hops: partial sums travel as in the allreduce `circulant`. At every hop they are decoded, added and encoded again.
///   Values are coded ceil(log2 p) times on their way, but a rank sends as few messages.
///
/// Owners then encode their sums, and all ranks decode the same codes, so they agree in every bit. Codecs with state
/// keep the errors of gradients and of sums for the next iteration.
class CodedAllreduce : public GradientExchange {
 public:
  enum class Way { once, hops };
  /// Borrows all. Throws ConfigError for a codec of weights.
  CodedAllreduce(JobTeam& job, CoreGroup& group, const Codec& codec, Way way);
  /// Afterwards the arena holds the sum of decoded values. Returns 1 / ranks.
  float finish(Net& net) override;
  std::vector<float> residuals() const override;
  bool restore_residuals(Net& net, const std::vector<float>& values) override;

 private:
  /// Neighbouring parts: the places of their values and their codes. Together they encode to no more bytes than apart.
  struct Range {
    i64 first, count;
    i64 place;        ///< place of the first part's code
    i64 parts_bytes;  ///< bytes of room for each part's code
  };

  void make_memory(i64 values);
  Range parts(int first, int last) const;
  i64 bytes_of(const Range& range) const { return codec_.encoded_bytes(range.count); }
  /// The ranges of parts whose numbers wrap round, at most two.
  std::vector<Range> ranges(int first, int last) const;
  float* state(const Range& range) const;
  void reduce_once(float* gradients);
  void reduce_by_hops(float* gradients);
  void share(float* gradients);

  JobTeam& job_;
  CoreGroup& group_;
  const Codec& codec_;
  const Way way_;
  const CirculantSchedule schedule_;
  const int ranks_;
  i64 values_ = 0;
  i64 part_bytes_ = 0;  // room for the code of a part
  CodeMemory codes_, arrived_;
  ClusterMemory state_, sums_state_;  // what codes left out of gradients, and of the own part's sum
};

}  // namespace cortado
