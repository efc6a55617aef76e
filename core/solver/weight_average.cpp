#include "core/solver/weight_average.h"

#include "core/machine/launch_elementwise.h"
#include "core/net/name_memory.h"
#include "core/solver/programs.h"

namespace cortado {

WeightAverage::WeightAverage(Net& net, CoreGroup& group, float decay) : net_(net), group_(group), decay_(decay) {
  const i64 count = net.parameter_arena()->count;
  naming_memory("the average of weights, " + megabytes_text(4.0 * static_cast<double>(count)),
                [&] { arena_ = Storage::make(group, count); });
  for (const Net::Learnable& learnable : net.learnable())
    if (learnable.division != nullptr)
      shards_.emplace_back(learnable.blob, Storage::make(group, learnable.blob->count()));
  begin();
}

std::vector<WeightAverage::Part> WeightAverage::parts() const {
  const Storage& values = *net_.parameter_arena();
  std::vector<Part> all;
  if (values.count > 0) all.push_back({values.data, arena_->data, values.count});
  for (const auto& [blob, average] : shards_) all.push_back({blob->mutable_data(), average->data, average->count});
  return all;
}

void WeightAverage::begin() {
  for (const Part& part : parts())
    group_.copy(part.average, part.values, static_cast<std::size_t>(part.count) * sizeof(float));
  group_.wait();
}

void WeightAverage::take() {
  for (const Part& part : parts())
    elementwise(group_, part.count, MovingAverage{decay_}, from(part.average, part.values), to(part.average));
}

void WeightAverage::swap() {
  for (const Part& part : parts())
    elementwise(group_, part.count, SwapValues{}, from(part.values, part.average), to(part.values, part.average));
  group_.wait();
}

}  // namespace cortado
