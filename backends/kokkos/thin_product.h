#pragma once
#include "core/machine/core_group.h"

namespace cortado::kokkos {

/// True if the product reads or writes one matrix that leaves the caches and has few rows of anything else, as inner
/// products of small batches do. That matrix's bytes bound it; a BLAS moves them more often, because it packs operands.
/// The others may have any number of rows if operands may be rounded and the processor multiplies bf16 faster than a
/// BLAS float.
bool is_thin(const MatrixLibrary::Gemm& g);

/// Share `worker` of `workers` of a thin product; shares write different elements.
void multiply_thin(const MatrixLibrary::Gemm& g, int worker, int workers);

}  // namespace cortado::kokkos
