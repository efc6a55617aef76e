#pragma once
#include "core/machine/core_group.h"

namespace cortado {

/// The softmax of an array seen as outer x classes x inner, over the classes.
struct SoftmaxKernel {
  i64 outer = 1, classes = 1, inner = 1;

  i64 positions() const { return outer * inner; }
  /// The floats of workspace that either direction needs.
  i64 workspace() const { return inner == 1 ? 0 : 2 * positions(); }
  /// Queues y = softmax(x); y may be x. Throws PlanError if all classes of a position exceed a scratchpad.
  void forward(CoreGroup& group, const float* x, float* y, float* workspace) const;
  /// Queues dx from y and dy; dx may be dy.
  void backward(CoreGroup& group, const float* y, const float* dy, float* dx, float* workspace) const;
};

}  // namespace cortado
