#include "app/environment.h"

#include <unistd.h>

#include <cstdlib>
#include <initializer_list>

namespace cortado {
namespace {
/// As the launchers say it: Hydra (MPICH, Intel), Open MPI, MVAPICH, Slurm.
bool shares_node() {
  for (const char* name :
       {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"})
    if (const char* text = std::getenv(name)) return std::atoi(text) > 1;
  return false;
}

}  // namespace

void settle_environment(char** arguments) {
  if (!shares_node() || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("OMP_WAIT_POLICY", "passive", 0);
  execv("/proc/self/exe", arguments);  // returns only if it cannot; then the default has to do
}

}  // namespace cortado
