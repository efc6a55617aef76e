#pragma once
#include <functional>
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

/// The total over the lines of each set. `launch(i, sums)` queues the program that writes a sum for each of the
/// `lines[i]` lines of set i. Waits for the cluster; the host adds lines in order, so that runs agree bit for bit.
std::vector<double> totals_of_lines(CoreGroup& group, const std::vector<i64>& lines,
                                    const std::function<void(std::size_t, float*)>& launch);

}  // namespace cortado
