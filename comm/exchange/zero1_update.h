#pragma once
#include <vector>

#include "comm/job_team.h"
#include "core/solver/gradient_exchange.h"

namespace cortado {

/// Each rank updates a part of the weights, and keeps the solver type's histories of that part alone (ZeRO stage 1,
/// Rajbhandari et al. 2020): a reduce-scatter of gradients, the update of the own part, an allgather of weights. Parts
/// are the blocks of the allreduce `circulant`, of which the two are the halves. So weights have the bits of packed
/// with that algorithm, by as many bytes on the wire.
class Zero1Update : public GradientExchange {
 public:
  /// Borrows both.
  Zero1Update(JobTeam& job, CoreGroup& group) : job_(job), group_(group) {}
  std::optional<Net::Range> own_part(const Net& net) const override;
  /// Afterwards the own part of the gradient arena holds the sum. Returns 1 / ranks.
  float finish(Net& net) override;
  void share_weights(Net& net) override;

 private:
  void on_host(const Storage& arena, const Net::Range& needed, const Net::Range& made,
               void (*run)(const Team& team, const HostValues& values));

  JobTeam& job_;
  CoreGroup& group_;
  std::vector<float> staging_;     // where messages do not reach the cluster's memory
  std::vector<float> statistics_;  // this rank's own, while weights travel
};

}  // namespace cortado
