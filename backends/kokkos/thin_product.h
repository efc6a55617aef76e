#pragma once
#include "core/machine/core_group.h"

namespace cortado::kokkos {

/// Whether the product reads or writes one matrix that leaves the caches and has few rows of anything else, as inner
/// products of small batches do: bound by that matrix's bytes, which a BLAS moves more often, for it packs what it
/// multiplies. Where operands may be rounded and the processor multiplies bf16 faster than a BLAS float: however many
/// rows the others have.
bool is_thin(const MatrixLibrary::Gemm& g);

/// Share `worker` of `workers` of a thin product; shares write different elements.
void multiply_thin(const MatrixLibrary::Gemm& g, int worker, int workers);

}  // namespace cortado::kokkos
