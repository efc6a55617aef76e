#pragma once
#include <vector>

#include "core/machine/core_group.h"

namespace cortado {

/// Rows picked by number, and their gradients, for Embed, BatchReindex and Filter. The numbers are known on the
/// management side.
class RowPicker {
 public:
  explicit RowPicker(CoreGroup& group) : group_(group) {}

  /// Afterwards row i of the result is row index[i], zeros where that is negative. Waits for the cluster.
  void pick(const std::vector<int>& index);
  i64 picked() const { return static_cast<i64>(index_.size()); }

  /// Queues to (picked x width) = the picked rows of `from`, each plus `bias` (width values); nullptr means no bias.
  void gather(const float* from, const float* bias, i64 width, float* to);
  /// Queues to[index[i]] += from[i], summed in the order of i. Runs agree bit for bit.
  void sum(const float* from, i64 width, float* to);

 private:
  CoreGroup& group_;
  std::vector<int> index_;
  i64 owners_ = 0;
  ClusterMemory numbers_;  // index, owners, starts (one more than owners), rows by owner
};

}  // namespace cortado
