#pragma once
#include <vector>

#include "core/tensor/blob.h"

namespace cortado {

class PartExchange;

/// How a matrix lies over ranks: each holds consecutive rows of it, or consecutive columns, nearly equally many; the
/// first ranks hold one more where it does not come out even. Values of matrices and parts are row-major.
class Division {
 public:
  /// `whole` has two dimensions; `axis` 0: rows are divided, 1: columns.
  Division(const Shape& whole, int axis, int ranks);

  const Shape& whole() const { return whole_; }
  int ranks() const { return ranks_; }
  /// Of the divided dimension, what the ranks before that one hold.
  i64 begin(int rank) const;
  i64 count(int rank) const { return begin(rank + 1) - begin(rank); }
  Shape part(int rank) const;

  /// The ranks' parts one after another, from the whole, and back.
  std::vector<float> cut(const std::vector<float>& whole) const;
  std::vector<float> join(const std::vector<float>& parts) const;
  /// A rank's part of the whole.
  std::vector<float> take(const std::vector<float>& whole, int rank) const;

  /// Rank 0 gets the whole, the others nothing. Collective.
  std::vector<float> collect(const PartExchange& ranks, const std::vector<float>& part) const;
  /// This rank's part of rank 0's whole; others' `whole` is not looked at. Collective.
  std::vector<float> spread(const PartExchange& ranks, const std::vector<float>& whole) const;

 private:
  std::vector<i64> counts() const;
  template <class Visit>
  void for_each_row(Visit visit) const;

  const Shape whole_;
  const int axis_, ranks_;
};

}  // namespace cortado
