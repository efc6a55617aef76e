#pragma once

namespace cortado {

/// Sends a line of PMI to the launcher, such as "cmd=finalize\n". It does nothing under launchers that do not speak it.
/// Hydra does (MPICH, Intel). It serves ends that MPI itself cannot tell.
void tell_launcher(const char* line);

}  // namespace cortado
