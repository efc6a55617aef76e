#pragma once
#include <functional>
#include <string>

#include "core/base/bf16.h"
#include "core/machine/core_group.h"
#include "layers/pooling/shape.h"

namespace cortado {

enum class PoolMethod { largest, average, by_lot };

/// Pooling's operands, in cluster memory.
struct PoolArguments {
  const void* from;     ///< x, or dy
  void* to;             ///< y, or dx
  int* mask = nullptr;  ///< an int per output, which forward writes: the index in its plane of the maximum, or of the
                        ///< drawn value
  // These serve draws.
  float* sums = nullptr;  ///< a float per output
  std::uint64_t key = 0;  ///< of the random numbers
  i64 first = 0;          ///< number of the first output, counted over all batches
  bool trains = true;
};

/// A candidate's work for one shape in one direction.
struct PoolPlan {
  std::string refused;  ///< why it cannot do it; empty means that it can
  double estimate = 0;
  /// Queues the work.
  std::function<void(CoreGroup&, const PoolArguments&)> run;
};

/// "planes": lanes are planes, which are staged turned.
PoolPlan plan_pooling_by_planes(const MachineSpec& spec, const PoolShape& shape, PoolMethod method, Precision precision,
                                bool forward);
/// "windows": a lane visits the whole window of an output, or all windows that hold an input.
PoolPlan plan_pooling_by_windows(const MachineSpec& spec, const PoolShape& shape, PoolMethod method,
                                 Precision precision, bool forward);
/// "rows": swCaffe's program, whose lanes are columns (section IV-D). Averages of whole planes take another program.
PoolPlan plan_pooling_by_rows(const MachineSpec& spec, const PoolShape& shape, PoolMethod method, Precision precision,
                              bool forward);

}  // namespace cortado
