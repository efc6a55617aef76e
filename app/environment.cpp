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

bool openblas_underrates() {
#if defined(__x86_64__)
  return __builtin_cpu_is("amd") != 0 && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
#else
  return false;
#endif
}

bool set_if_absent(const char* name, const char* value) {
  if (std::getenv(name) != nullptr) return false;
  setenv(name, value, 0);
  return true;
}
}  // namespace

void settle_environment(char** arguments) {
  bool changed = shares_node() && set_if_absent("OMP_WAIT_POLICY", "passive");
  changed = (openblas_underrates() && set_if_absent("OPENBLAS_CORETYPE", "SkylakeX")) || changed;
  if (changed) execv("/proc/self/exe", arguments);  // returns only if it cannot; then the defaults have to do
}

}  // namespace cortado
