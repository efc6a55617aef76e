#pragma once
#include <cuda_runtime.h>

#include <memory>

#include "core/machine/core_group.h"

namespace cortado::kokkos {

/// cuBLAS in order with one CUDA stream.
std::unique_ptr<MatrixLibrary> make_cublas(cudaStream_t stream);

}  // namespace cortado::kokkos
