#pragma once
#include <string>
#include <utility>
#include <vector>

#include "backends/kokkos/processor.h"
#include "core/machine/machine_spec.h"
#include "core/machine/tf32.h"

namespace cortado::kokkos {

/// The device of each core group. Throws ConfigError, with advice, where there is no driver, no device, one that this
/// build has no code for, or not those that the user named.
std::vector<int> choose_cuda_devices(const Options& options);

/// The device as the machine of one of `core_groups` core groups of this process. `tf32`: as asked for, if it can.
MachineSpec spec_of_device(int device, int core_groups, Tf32 tf32);

/// Lets the devices copy from each other without the host between them, if the machine can.
void let_devices_reach_each_other(const std::vector<int>& devices);

/// Names and versions: driver, CUDA runtime, cuBLAS, cuDNN. Needs no device.
std::vector<std::pair<std::string, std::string>> cuda_software();

}  // namespace cortado::kokkos
