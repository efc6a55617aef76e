#pragma once
#include <cuda_runtime.h>

#include <memory>

#include "backends/kokkos/cuda_check.h"
#include "core/machine/core_group.h"

namespace cortado::kokkos {

/// cuBLAS in order with one CUDA stream of a core group. `tf32`: products of floats may be of operands rounded to TF32.
/// `watch` must outlive it.
std::unique_ptr<MatrixLibrary> make_cublas(cudaStream_t stream, const CudaWatch& watch, bool tf32);

/// The loaded library's version: "13.1.0".
std::string cublas_version();

}  // namespace cortado::kokkos
