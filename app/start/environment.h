#pragma once
#include <string>

namespace cortado {

/// Decides how OpenMP's threads wait for work, unless the user has (OMP_WAIT_POLICY, GOMP_SPINCOUNT, KMP_BLOCKTIME). A
/// thread that spins takes the time of working threads wherever processors are shared. So a process alone on its node
/// spins for `spin_microseconds`, longer than most gaps between two launches, then sleeps. Ranks that share a node
/// sleep at once. The runtime reads its settings when it is loaded, so this starts the program again, once.
void settle_environment(char** arguments);

constexpr double spin_microseconds = 50;

/// The way of waiting in this process, for the log: "spin 2022 pauses, about 50 us, then sleep".
std::string describe_waiting();
/// The microseconds for which a thread of this process spins before it sleeps. -1: for ever; -2: not known.
double waiting_microseconds();

/// Makes writing to a closed pipe, or beyond the largest file allowed, an error of the write. Without it SIGPIPE and
/// SIGXFSZ end the process without a word.
void outlive_failed_writes();

/// This process's rank in its launcher's environment, before MPI starts; 0 if there is none.
int launched_rank();

}  // namespace cortado
