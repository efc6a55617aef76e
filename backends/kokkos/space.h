#pragma once
#include <Kokkos_Core.hpp>

#include "backends/kokkos/share.h"
#include "core/base/types.h"

namespace cortado::kokkos {

#if defined(CORTADO_KOKKOS_CUDA)
using Space = Kokkos::Cuda;  ///< where this build runs cluster programs
#else
using Space = Kokkos::OpenMP;  ///< where this build runs cluster programs
#endif

/// The mark that `fail` leaves, in memory that the cluster reaches. The first failure since the last wait stays.
struct Failure {
  int taken = 0;
  int code = 0;
  i64 index = 0;
  const char* label = nullptr;  ///< of the program; a host pointer, never followed on a device

  KOKKOS_FUNCTION void remember(int failure_code, i64 failure_index, const char* program_label) {
    if (Kokkos::atomic_compare_exchange(&taken, 0, 1) != 0) return;
    code = failure_code;
    index = failure_index;
    label = program_label;
  }
};

/// A launch's resources for each of its workers. A worker is a CPE: a thread of OpenMP, a team of CUDA.
struct Grant {
  const char* label = nullptr;
  i64 workers = 1;
  i64 scratch_bytes = 0;  ///< of one worker, with the slack that the backend adds
  char* scratch =
      nullptr;  ///< OpenMP: the workers' scratchpads, one after the other; CUDA: null, it comes with the team
  Failure* failure = nullptr;
  bool streams = false;    ///< Plan::streams
  Taken* taken = nullptr;  ///< OpenMP: zeros, a word for each worker and each of the first `shared_lists` lists
};

}  // namespace cortado::kokkos
