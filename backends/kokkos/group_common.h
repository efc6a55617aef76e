#pragma once
#include <memory>
#include <vector>

#include "backends/kokkos/programs.h"
#include "backends/kokkos/space.h"
#include "core/machine/core_group.h"
#include "core/machine/tf32.h"

namespace cortado::kokkos {

/// The core groups of this build's machine, one for each of `devices` (OpenMP: which mean nothing), `threads` host
/// threads each. Throws ConfigError when there are not enough. `programs` must outlive them. `tf32`: Options::tf32.
std::vector<std::unique_ptr<CoreGroup>> make_groups(const std::vector<int>& devices, int threads, Tf32 tf32,
                                                    const Programs& programs);

/// Label and worker count of a launch. Throws PlanError for a plan with more bookings than a context counts or more
/// scratchpad than the machine has.
Grant grant_of(const Plan& plan, const char* label, const MachineSpec& spec);

/// Throws BugError when this backend was built without the program.
Entry entry_of(const Programs& programs, ProgramKey key, const char* label);

/// Throws the ClusterError that tells about a failure.
[[noreturn]] void throw_failure(const Failure& failure);

}  // namespace cortado::kokkos
