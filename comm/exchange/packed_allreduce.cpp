#include "comm/exchange/packed_allreduce.h"

#include "comm/pieces.h"

namespace cortado {

float PackedAllreduce::finish(Net& net) {
  if (replicas_.size() == 1) return 1;
  const Storage& gradients = *net.gradient_arena();
  const bool in_place = group_.spec().host_memory;
  const std::size_t bytes = static_cast<std::size_t>(gradients.count) * sizeof(float);
  float* values = gradients.data;
  if (!in_place) {
    staging_.resize(static_cast<std::size_t>(gradients.count));
    values = staging_.data();
    group_.copy(values, gradients.data, bytes);
  }
  group_.wait();
  in_pieces(gradients.count, [&](i64 first, int n) {
    MPI_Allreduce(MPI_IN_PLACE, values + first, n, MPI_FLOAT, MPI_SUM, replicas_.communicator());
  });
  if (!in_place) {
    group_.copy(gradients.data, values, bytes);
    group_.wait();
  }
  return 1.0f / static_cast<float>(replicas_.size());
}

}  // namespace cortado
