#pragma once
#include <cstdint>
#include <string>

#include "core/base/types.h"

namespace cortado {

/// The processes that train the same net on different samples, as core sees them. comm implements it over MPI;
/// this base class is the one-process case. Every call is collective.
class Replicas {
 public:
  virtual ~Replicas() = default;
  virtual int rank() const { return 0; }
  virtual int size() const { return 1; }
  /// The core group's number in its process, and how many there are: each is a rank, core group g of process p is rank
  /// p * groups + g.
  virtual int group_in_process() const { return 0; }
  virtual int groups_of_process() const { return 1; }
  /// What core group 0 of this process shows, on all of them. Collective within the process.
  virtual const void* shown_by_master(const void* shown) const { return shown; }
  /// Element-wise sum over ranks, in place, same bits on every rank.
  virtual void sum(double* /*values*/, i64 /*count*/) const {}
  /// Element-wise maximum over ranks, in place.
  virtual void maximum(i64* /*values*/, i64 /*count*/) const {}
  /// Rank 0's text, on every rank.
  virtual std::string from_root(const std::string& text) const { return text; }
  /// Rank 0's values, on every rank (host memory).
  virtual void from_root(float* /*values*/, i64 /*count*/) const {}
};

}  // namespace cortado
