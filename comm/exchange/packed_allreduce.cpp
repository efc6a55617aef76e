#include "comm/exchange/packed_allreduce.h"

namespace cortado {

float PackedAllreduce::finish(Net& net) {
  const int ranks = job_.topology().ranks();
  if (ranks == 1) return 1;
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
  job_.run(job_.allreduce(algorithm_, static_cast<i64>(bytes)), {values, gradients.count, Precision::fp32});
  if (!in_place) {
    group_.copy(gradients.data, values, bytes);
    group_.wait();
  }
  return 1.0f / static_cast<float>(ranks);
}

}  // namespace cortado
