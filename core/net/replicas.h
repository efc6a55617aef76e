#pragma once
#include <cstdint>
#include <string>

#include "core/base/types.h"

namespace cortado {

/// The processes that train the same net on different samples. comm implements them over MPI; this base class is a
/// single process. Every call is collective.
class Replicas {
 public:
  virtual ~Replicas() = default;
  virtual int rank() const { return 0; }
  virtual int size() const { return 1; }
  /// The core group's number in its process, and the core groups of a process. Every core group is a rank: core group g
  /// of process p is rank p * groups + g.
  virtual int group_in_process() const { return 0; }
  virtual int groups_of_process() const { return 1; }
  /// Returns on every core group the pointer that core group 0 of this process passes. Collective within the process.
  virtual const void* shown_by_master(const void* shown) const { return shown; }
  /// Sums element-wise over ranks, in place, with the same bits on every rank.
  virtual void sum(double* /*values*/, i64 /*count*/) const {}
  /// Takes the element-wise maximum over ranks, in place.
  virtual void maximum(i64* /*values*/, i64 /*count*/) const {}
  /// Returns rank 0's text on every rank.
  virtual std::string from_root(const std::string& text) const { return text; }
  /// Copies rank 0's values to every rank (host memory).
  virtual void from_root(float* /*values*/, i64 /*count*/) const {}
};

}  // namespace cortado
