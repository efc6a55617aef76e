#pragma once
#include <mpi.h>

#include <string>
#include <vector>

#include "core/machine/host_topology.h"

namespace cortado {

/// The CPUs that each rank's calling thread may run on, in order of ranks. `node` has ranks of one node. Collective.
std::vector<CpuSet> cpus_of_ranks(MPI_Comm node);

/// Says which ranks share fewer CPUs than they are, while the node has CPUs that no rank may use: "2 of its ranks may
/// run on CPU 0 alone, of CPUs 0-7". Empty means none.
std::string crowding_of(const std::vector<CpuSet>& ranks, const CpuSet& node);

}  // namespace cortado
