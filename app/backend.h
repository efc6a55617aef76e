#pragma once
#include <memory>

#include "core/machine/core_group.h"

namespace cortado {

/// The processor of the backend that this build was configured for, with every program of the tree.
/// `core_groups` 0: as many as the backend finds useful (1 on OpenMP). `cpus` is how many OpenMP threads there should
/// be unless OMP_NUM_THREADS says otherwise (MpiJob::own_cpus); 0: as many as OpenMP makes.
std::unique_ptr<Processor> make_processor(int core_groups = 0, int cpus = 0);

}  // namespace cortado
