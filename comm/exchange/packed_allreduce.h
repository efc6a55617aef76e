#pragma once
#include <vector>

#include "comm/job_team.h"
#include "core/solver/gradient_exchange.h"

namespace cortado {

/// All gradients at once after backward (swCaffe section V-A's packed allreduce): the gradient arena needs no packing.
/// Where cluster memory is the host's the sum happens in place; elsewhere it goes through host memory. Same result from
/// run to run for the same ranks and algorithm, as far as the library promises it where that one is chosen.
class PackedAllreduce : public GradientExchange {
 public:
  /// The job is borrowed. `algorithm` is a name, or "auto". Throws ConfigError.
  PackedAllreduce(JobTeam& job, CoreGroup& group, std::string algorithm = "auto")
      : job_(job), group_(group), algorithm_(std::move(algorithm)) {
    job_.allreduce(algorithm_, 0);
  }
  /// The arena then holds the sum; returns 1 / ranks.
  float finish(Net& net) override;

 private:
  JobTeam& job_;
  CoreGroup& group_;
  const std::string algorithm_;
  std::vector<float> staging_;
};

}  // namespace cortado
