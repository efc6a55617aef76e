#pragma once
#include <cuda_runtime.h>

#include <string>

#include "core/base/error.h"

namespace cortado::kokkos {

/// Throws ClusterError, saying what could not be done, unless the CUDA runtime reports success.
inline void cuda_check(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw ClusterError("CUDA", std::string("cannot ") + what + ": " + cudaGetErrorString(status));
}

}  // namespace cortado::kokkos
