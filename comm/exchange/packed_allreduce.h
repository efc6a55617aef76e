#pragma once
#include <vector>

#include "comm/job_team.h"
#include "core/solver/gradient_exchange.h"

namespace cortado {

/// All gradients at once after backward (swCaffe section V-A's packed allreduce). The gradient arena needs no packing.
/// The sum happens in place where cluster memory is the host's; elsewhere it goes through host memory. Runs of the same
/// ranks and algorithm agree bit for bit, as far as the MPI library promises that where its algorithm is chosen.
class PackedAllreduce : public GradientExchange {
 public:
  /// Borrows the job. `algorithm` is a name, or "auto". Throws ConfigError.
  PackedAllreduce(JobTeam& job, CoreGroup& group, std::string algorithm = "auto")
      : job_(job), group_(group), algorithm_(std::move(algorithm)) {
    job_.allreduce(algorithm_, 0);
  }
  /// Afterwards the arena holds the sum. Returns 1 / ranks.
  float finish(Net& net) override;

 private:
  JobTeam& job_;
  CoreGroup& group_;
  const std::string algorithm_;
  std::vector<float> staging_;
};

}  // namespace cortado
