#pragma once
#include <vector>

#include "core/machine/core_group.h"

namespace cortado {

/// Consecutive values in cluster memory.
struct ClusterValues {
  const float* data = nullptr;
  i64 count = 0;
};

/// The sum of squares of each set. It takes one launch per set and one wait for all. Runs agree bit for bit.
std::vector<double> sums_of_squares(CoreGroup& group, const std::vector<ClusterValues>& sets);

}  // namespace cortado
