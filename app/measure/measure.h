#pragma once
#include <functional>
#include <vector>

#include "core/machine/core_group.h"
#include "core/machine/limits/limits.h"

namespace cortado {

/// Of one value or more; the upper one of the two in the middle.
double median(std::vector<double> values);

/// Milliseconds that `work` takes on the core group, by its own clock. Waits.
double milliseconds(CoreGroup& group, const std::function<void()>& work);

/// Seconds of the quickest of a few runs of `work`, after one run that warms up: as many
/// as take 0.2 s together, at most ten. Where only time is kept (MachineSpec::timing_only) runs are all alike, and one
/// is made.
double seconds_of(CoreGroup& group, const std::function<void()>& work);

/// What the machine's description says of its rates; what it leaves open is measured.
Limits limits_of(CoreGroup& group);

/// Time over the time that the limits allow, the longer of arithmetic and memory traffic; 0 for no time.
double roofline_share(const Limits& limits, double flops, double bytes, double seconds);

/// Bytes of memory that are still free for a core group: where its memory is the host's and is written, what the
/// system says; else without bound, since allocating itself tells.
i64 free_memory(const MachineSpec& spec);

/// Fills `count` elements of cluster memory with small numbers, the same each time, neither denormal nor NaN. Writes
/// nothing where only time is kept.
void fill_with_numbers(CoreGroup& group, float* to, i64 count);
void fill_with_numbers(CoreGroup& group, double* to, i64 count);

/// Memory for `count` elements, filled like that. Throws Error where it does not fit.
template <class T>
ClusterMemory numbers(CoreGroup& group, i64 count);

}  // namespace cortado
