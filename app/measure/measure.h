#pragma once
#include <functional>
#include <vector>

#include "core/machine/core_group.h"
#include "core/machine/limits/limits.h"

namespace cortado {

/// The median of one value or more; of an even number, the upper one of the two in the middle.
double median(std::vector<double> values);

/// The milliseconds of `work` on the core group, by its own clock. Waits for the cluster.
double milliseconds(CoreGroup& group, const std::function<void()>& work);

/// The seconds of the quickest of a few runs of `work`, after one run that warms up. There are as many runs as take 0.2
/// s together, at most ten. All runs are alike if only time is kept (MachineSpec::timing_only), and one is made.
double seconds_of(CoreGroup& group, const std::function<void()>& work);

/// The machine's rates: those of its description, and measured ones for the rest.
Limits limits_of(CoreGroup& group);

/// The ratio of the time to the time that the limits allow, the longer of arithmetic and memory traffic; 0 for no time.
double roofline_share(const Limits& limits, double flops, double bytes, double seconds);

/// The bytes of free memory for a core group. The system tells them if the group's memory is the host's and is written.
/// Otherwise there is no bound: allocating fails by itself.
i64 free_memory(const MachineSpec& spec);

/// Fills `count` elements of cluster memory with small numbers, the same each time, neither denormal nor NaN. It writes
/// nothing where only time is kept.
void fill_with_numbers(CoreGroup& group, float* to, i64 count);
void fill_with_numbers(CoreGroup& group, double* to, i64 count);

/// Allocates memory for `count` elements, filled like that. Throws Error where it does not fit.
template <class T>
ClusterMemory numbers(CoreGroup& group, i64 count);

}  // namespace cortado
