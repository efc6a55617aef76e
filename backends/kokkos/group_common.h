#pragma once
#include "backends/kokkos/programs.h"
#include "backends/kokkos/space.h"
#include "core/machine/machine_spec.h"
#include "core/machine/plan.h"

namespace cortado::kokkos {

/// Label and worker count of a launch. Throws PlanError for a plan with more bookings than a context counts or more
/// scratchpad than the machine has.
Grant grant_of(const Plan& plan, const char* label, const MachineSpec& spec);

/// Throws BugError when this backend was built without the program.
Entry entry_of(const Programs& programs, ProgramKey key, const char* label);

/// Throws the ClusterError that tells about a failure.
[[noreturn]] void throw_failure(const Failure& failure);

}  // namespace cortado::kokkos
