#include "comm/exchange/coded_allreduce.h"

namespace cortado {

void CodedAllreduce::make_memory(i64 values) {
  if (values == values_) return;
  values_ = values;
  if (sum_.keeps_state()) left_out_ = LeftOut(group_, values, sum_.own_part(values));
}

float CodedAllreduce::finish(Net& net) {
  if (ranks_ == 1) return 1;
  const Storage& gradients = *net.gradient_arena();
  make_memory(gradients.count);
  sum_.run(gradients.data, gradients.count, left_out_.of_values(0), left_out_.of_sums(0));
  return 1.0f / static_cast<float>(ranks_);
}

bool CodedAllreduce::restore_residuals(Net& net, const std::vector<float>& values) {
  if (ranks_ > 1) make_memory(net.gradient_arena()->count);
  return left_out_.write(group_, values);
}

}  // namespace cortado
