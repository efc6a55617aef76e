#pragma once
#include <string>

namespace cortado {

/// Decides how OpenMP's threads wait for work, unless the user has (OMP_WAIT_POLICY, GOMP_SPINCOUNT, KMP_BLOCKTIME). A
/// thread that spins takes the time of those that work wherever processors are shared. So a process alone on its node
/// spins for `spin_microseconds`, about the gap between two launches, then sleeps; ranks that share a node sleep at
/// once. The runtime reads its settings when it is loaded: this starts the program again, once.
void settle_environment(char** arguments);

constexpr double spin_microseconds = 25;

/// What holds in this process, for the log: "spin 1016 pauses, 25 us, then sleep".
std::string describe_waiting();

/// Writing to what nobody reads any more, or beyond the largest file allowed, becomes an error of the write: by default
/// SIGPIPE and SIGXFSZ would end the process without a word.
void outlive_failed_writes();

/// This process's rank as its launcher says it, before MPI is started; 0: none says.
int launched_rank();

}  // namespace cortado
