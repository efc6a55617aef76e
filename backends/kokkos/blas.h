#pragma once
#include <memory>

#include "backends/kokkos/space.h"
#include "core/machine/core_group.h"

namespace cortado::kokkos {

/// The machine's CBLAS (OpenBLAS, FlexiBLAS, MKL...) with at most `threads` threads; thin products (thin_product.h)
/// go without it.
std::unique_ptr<MatrixLibrary> make_blas(const Space& space, int threads);

}  // namespace cortado::kokkos
