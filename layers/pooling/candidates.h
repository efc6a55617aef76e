#pragma once
#include <functional>
#include <string>

#include "core/base/bf16.h"
#include "core/machine/core_group.h"
#include "layers/pooling/shape.h"

namespace cortado {

enum class PoolMethod { largest, average, by_lot };

/// What pooling reads and writes, in cluster memory.
struct PoolArguments {
  const void* from;     ///< x, or dy
  void* to;             ///< y, or dx
  int* mask = nullptr;  ///< an int per output, which forward writes: the maximum's place in its plane, or that of what
                        ///< was drawn
  // For draws.
  float* sums = nullptr;  ///< a float per output
  std::uint64_t key = 0;  ///< of the random numbers
  i64 first = 0;          ///< number of the first output among those of all batches
  bool trains = true;
};

/// How a candidate pools one shape in one direction.
struct PoolPlan {
  std::string refused;  ///< why it cannot; empty: it can
  double estimate = 0;
  /// Queues the work.
  std::function<void(CoreGroup&, const PoolArguments&)> run;
};

/// "planes": lanes are planes, which come turned.
PoolPlan plan_pooling_by_planes(const MachineSpec& spec, const PoolShape& shape, PoolMethod method, Precision precision,
                                bool forward);
/// "rows": swCaffe's, lanes are columns (section IV-D). Averages of whole planes go by a program of their own.
PoolPlan plan_pooling_by_rows(const MachineSpec& spec, const PoolShape& shape, PoolMethod method, Precision precision,
                              bool forward);

}  // namespace cortado
