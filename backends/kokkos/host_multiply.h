#pragma once
#include "backends/kokkos/tiles.h"

namespace cortado::kokkos {

/// The multiply of core/machine/program.h for one thread: a register-blocked kernel on vectors along n0, broadcasting
/// A. Unit n0_stride is read in place; any other is packed first. May read, and ignore, up to one vector beyond a
/// row of B or of the accumulator.
void host_multiply(const Acc<float>& acc, const LeftOperand<float>& a, const RightOperand<float>& b, const Taps& taps);
/// The same for pairs of bf16: by AVX-512 BF16 where the processor has it, else in float.
void host_multiply(const Acc<float>& acc, const LeftOperand<bf16x2>& a, const RightOperand<bf16x2>& b,
                   const Taps& taps);

}  // namespace cortado::kokkos
