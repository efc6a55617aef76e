#pragma once
#include <vector>

#include "core/machine/core_group.h"

namespace caffe {
class SolverParameter;
}

namespace cortado {

/// One update of one parameter blob.
struct BlobUpdate {
  const float* gradient = nullptr;
  float* weight = nullptr;
  float* history = nullptr;  ///< the first history; the type's second lies `pitch` values further on
  i64 pitch = 0, count = 0;
  float scale = 1;       ///< the gradient's factor, which is applied first
  float l2 = 0, l1 = 0;  ///< decay
  float rate = 0;        ///< the policy's times lr_mult, and the local one
  i64 iteration = 0;     ///< from 0
};

/// A solver type: the rule by which gradients become new weights. Optimizer has what all types share. A new type is a
/// rule (rules.h), its program in core/CMakeLists.txt, and a row of the table in solver_type.cpp.
struct SolverType {
  /// The norms that give every blob a rate of its own, which multiplies the policy's.
  enum class LocalRates { none, gradients, directions };

  const char* name;        ///< Caffe's, where Caffe has the type
  int histories;           ///< values kept per weight
  LocalRates local_rates;  ///< of LARS, by norms of gradients; of LAMB, by norms of the rule's directions
  /// Throws ConfigError for fields that make the rule meaningless, and for fields that Caffe refuses.
  void (*check)(const caffe::SolverParameter& parameter);
  /// Queues the update.
  void (*update)(CoreGroup& group, const caffe::SolverParameter& parameter, const BlobUpdate& blob);

  /// Lets the histories take each blob's gradient, before its `update`; for LocalRates::directions. Returns the sum of
  /// squares of each blob's directions. Waits for the cluster; runs agree bit for bit.
  std::vector<double> (*begin)(CoreGroup& group, const caffe::SolverParameter& parameter,
                               const std::vector<BlobUpdate>& blobs) = nullptr;
};

/// The type that `type`, or the deprecated `solver_type`, names. Throws ConfigError for one that does not exist.
const SolverType& solver_type(const caffe::SolverParameter& parameter);

}  // namespace cortado
