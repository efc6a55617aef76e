#pragma once
#include "core/machine/core_group.h"

namespace cortado {

/// The most that one core group has shown to reach, measured by programs of its own.
struct Limits {
  double flops = 0;      ///< single-precision flop/s of multiply-adds held in registers
  double bandwidth = 0;  ///< bytes/s of a triad over arrays far larger than any cache, writes counted once
};

/// Measures both, in a fraction of a second on a machine that computes in earnest. A clock that varies varies them:
/// compare only with what was timed right before or after. Throws Error when there is no memory for the arrays
/// (3 x 64 MB).
Limits measure_limits(CoreGroup& group);

}  // namespace cortado
