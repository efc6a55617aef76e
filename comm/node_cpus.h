#pragma once
#include <mpi.h>

#include <vector>

#include "core/machine/host_topology.h"

namespace cortado {

/// The CPUs that each rank's calling thread may run on, in order of ranks. `node` has ranks of one node. Collective.
std::vector<CpuSet> cpus_of_ranks(MPI_Comm node);

}  // namespace cortado
