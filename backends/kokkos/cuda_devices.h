#pragma once
#include <string>
#include <utility>
#include <vector>

#include "backends/kokkos/processor.h"
#include "core/machine/machine_spec.h"

namespace cortado::kokkos {

/// The device of each core group. Throws ConfigError, with advice, where there is no driver, no device, one that this
/// build has no code for, or not those that the user named.
std::vector<int> choose_cuda_devices(const Options& options);

/// What the device is to one of `core_groups` core groups of this process.
MachineSpec spec_of_device(int device, int core_groups);

/// Where the machine can, lets the devices copy from each other without the host between them.
void let_devices_reach_each_other(const std::vector<int>& devices);

/// Names and versions: driver, CUDA runtime, cuBLAS, cuDNN. Needs no device.
std::vector<std::pair<std::string, std::string>> cuda_software();

}  // namespace cortado::kokkos
