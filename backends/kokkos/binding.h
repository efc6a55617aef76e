#pragma once
#include <string>
#include <vector>

#include "core/machine/host_topology.h"

namespace cortado::kokkos {

/// The CPUs that each of OpenMP's threads may run on.
std::vector<CpuSet> cpus_of_threads(int threads);

/// In words: "on CPUs 0-3" when all threads share those, "on CPUs 0|1|2|3" when each is bound to its own.
std::string describe_binding(const std::vector<CpuSet>& cpus);

}  // namespace cortado::kokkos
