#pragma once
#include <vector>

#include "comm/mpi_replicas.h"
#include "core/solver/gradient_exchange.h"

namespace cortado {

/// All gradients at once after backward (swCaffe section V-A's packed allreduce, with the library's algorithm): the
/// gradient arena needs no packing. Where cluster memory is the host's the sum happens in place; elsewhere it goes
/// through host memory. Same result from run to run for the same ranks, as far as the library's MPI_Allreduce promises.
class PackedAllreduce : public GradientExchange {
 public:
  /// Both are borrowed.
  PackedAllreduce(const MpiReplicas& replicas, CoreGroup& group) : replicas_(replicas), group_(group) {}
  /// The arena then holds the sum; returns 1 / ranks.
  float finish(Net& net) override;

 private:
  const MpiReplicas& replicas_;
  CoreGroup& group_;
  std::vector<float> staging_;
};

}  // namespace cortado
