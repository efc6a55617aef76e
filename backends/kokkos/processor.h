#pragma once
#include <memory>

#include "backends/kokkos/programs.h"
#include "core/machine/core_group.h"

namespace cortado::kokkos {

struct Options {
  int core_groups = 1;  ///< 0 counts as 1
  int threads = 0;  ///< OpenMP threads of all core groups together; 0: what OMP_NUM_THREADS or the affinity mask says
};

/// Initialises Kokkos on first use.
std::unique_ptr<Processor> make_processor(const Options& options, Programs programs);

}  // namespace cortado::kokkos
