#pragma once
#include <vector>

#include "core/machine/core_group.h"

namespace cortado {

/// Consecutive values in cluster memory.
struct Values {
  const float* data = nullptr;
  i64 count = 0;
};

/// The sum of squares of each. One launch per set of values and one wait for all; the same result from run to run.
std::vector<double> sums_of_squares(CoreGroup& group, const std::vector<Values>& sets);

}  // namespace cortado
