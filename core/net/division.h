#pragma once
#include <vector>

#include "core/tensor/blob.h"

namespace cortado {

class ShardExchange;

/// A matrix divided over ranks. Each rank holds consecutive rows, or consecutive columns, its shard. Shards differ by
/// one row or column at most; the first ranks hold the longer ones. Values of matrices and shards are row-major.
class Division {
 public:
  /// `whole` has two dimensions. Axis 0 divides rows, axis 1 columns.
  Division(const Shape& whole, int axis, int ranks);

  const Shape& whole() const { return whole_; }
  int ranks() const { return ranks_; }
  /// The first row or column that the rank holds.
  i64 begin(int rank) const;
  i64 count(int rank) const { return begin(rank + 1) - begin(rank); }
  Shape shard(int rank) const;

  /// Cuts the whole into the ranks' shards, one after another; join is the inverse.
  std::vector<float> cut(const std::vector<float>& whole) const;
  std::vector<float> join(const std::vector<float>& shards) const;
  /// The shard of a rank.
  std::vector<float> take(const std::vector<float>& whole, int rank) const;

  /// Returns the whole on rank 0 and nothing on the others. Collective.
  std::vector<float> collect(const ShardExchange& ranks, const std::vector<float>& shard) const;
  /// Returns this rank's shard of rank 0's `whole`. Other ranks' `whole` is ignored. Collective.
  std::vector<float> spread(const ShardExchange& ranks, const std::vector<float>& whole) const;

 private:
  std::vector<i64> counts() const;
  template <class Visit>
  void for_each_row(Visit visit) const;

  const Shape whole_;
  const int axis_, ranks_;
};

}  // namespace cortado
