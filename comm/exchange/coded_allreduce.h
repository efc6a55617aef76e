#pragma once
#include <vector>

#include "comm/codec/codec.h"
#include "comm/exchange/code_memory.h"
#include "comm/job_team.h"
#include "core/solver/gradient_exchange.h"

namespace cortado {

/// Gradients sent as codes, after backward. Every rank owns a part of the arena, whole blocks of the codec:
/// - once: each rank encodes its gradients once and sends each part to its owner, who adds up what they decode to, its
///   own among them;
/// - ring: parts travel round the ranks, who decode what arrives, add it to their own, and encode the sum for the next.
///   Values are coded p - 1 times on their way, but a rank never sends to more than one other.
/// Owners then encode their sums, and all ranks decode the same codes, so that they agree in every bit. What codecs
/// with state leave out is kept for the next iteration, of gradients and of sums; snapshots do not hold it.
class CodedAllreduce : public GradientExchange {
 public:
  enum class Way { once, ring };
  /// All are borrowed. Throws ConfigError for a codec of weights.
  CodedAllreduce(JobTeam& job, CoreGroup& group, const Codec& codec, Way way);
  /// The arena then holds the sum of decoded values; returns 1 / ranks.
  float finish(Net& net) override;

 private:
  struct Part {
    i64 first, count;
  };

  void make_memory(i64 values);
  Part part(int rank) const;
  void encode(int part_of, const float* gradients, float* state, const CodeMemory& to) const;
  void reduce_once(float* gradients);
  void reduce_by_ring(float* gradients);
  void share(float* gradients);

  JobTeam& job_;
  CoreGroup& group_;
  const Codec& codec_;
  const Way way_;
  i64 values_ = 0;
  std::vector<CodeMemory> codes_;     // of each rank's part
  std::vector<CodeMemory> arrived_;   // of the own part, from each rank; ring: one, as long as the longest part
  ClusterMemory state_, sums_state_;  // what codes left out of gradients, and of the own part's sum
};

}  // namespace cortado
