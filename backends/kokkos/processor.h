#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/kokkos/programs.h"
#include "core/machine/core_group.h"
#include "core/machine/devices.h"
#include "core/machine/tf32.h"

namespace cortado::kokkos {

struct Options {
  int core_groups = 0;  ///< 0: one; CUDA: one for each device that the user chose for this process
  int threads = 0;  ///< OpenMP threads of all core groups together; 0: what OMP_NUM_THREADS or the affinity mask says
  DeviceChoice devices;    ///< of CUDA
  Tf32 tf32 = Tf32::none;  ///< of CUDA
  bool amx = true;         ///< whether the processor's matrix unit may be used, where it has one
};

/// Initialises Kokkos on first use. CUDA: throws ConfigError, with advice, where no device can be used.
std::unique_ptr<Processor> make_processor(const Options& options, Programs programs);

/// Names and versions of what lies between this backend and the machine; empty with OpenMP. Needs no device.
std::vector<std::pair<std::string, std::string>> software();

}  // namespace cortado::kokkos
