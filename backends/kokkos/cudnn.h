#pragma once
#include <cuda_runtime.h>

#include <memory>
#include <string>

#include "backends/kokkos/cuda_check.h"
#include "core/machine/convolution_library.h"

namespace cortado::kokkos {

/// cuDNN in order with one CUDA stream of a core group. The library is loaded when it is first asked for; nullptr where
/// that fails, and `why` says how. `tf32`: products may be of operands rounded to TF32. `watch` must outlive it.
std::unique_ptr<ConvolutionLibrary> make_cudnn(cudaStream_t stream, const CudaWatch& watch, bool tf32,
                                               std::string& why);

/// The loaded library's version, "9.14.0", or why there is none.
std::string cudnn_version();

}  // namespace cortado::kokkos
