#pragma once
#include "backends/kokkos/tiles.h"

namespace cortado::kokkos {

/// The multiply of core/machine/program.h for one thread: a register-blocked kernel on vectors along n0, broadcasting
/// A. Unit n0_stride is read in place; any other is packed first. May read, and ignore, up to one vector beyond a
/// row of B or of the accumulator.
void host_multiply(const Acc<float>& acc, const LeftOperand<float>& a, const RightOperand<float>& b, const Taps& taps);
/// Its product: sets what host_multiply adds to.
void host_product(const Acc<float>& acc, const LeftOperand<float>& a, const RightOperand<float>& b, const Taps& taps);
/// Both for pairs of bf16: by the processor's matrix unit (AMX) or AVX-512 BF16 where it has them, else in float.
void host_multiply(const Acc<float>& acc, const LeftOperand<bf16x2>& a, const RightOperand<bf16x2>& b,
                   const Taps& taps);
void host_product(const Acc<float>& acc, const LeftOperand<bf16x2>& a, const RightOperand<bf16x2>& b, const Taps& taps);

/// y (m x n, rows ldy apart) += a b for one thread, the columns being whole vectors: element (i, k) of a lies at
/// view.m_stride i + view.k_stride k, rows of b lie ldb apart. T: float or bf16x2, of which k are pairs.
template <class T>
void host_multiply(i64 m, i64 n, i64 k, const T* a, LeftView view, const T* b, i64 ldb, float* y, i64 ldy);
/// The same with y = a b.
template <class T>
void host_product(i64 m, i64 n, i64 k, const T* a, LeftView view, const T* b, i64 ldb, float* y, i64 ldy);

}  // namespace cortado::kokkos
