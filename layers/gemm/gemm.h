#pragma once
#include <string>

#include "core/machine/core_group.h"

namespace cortado {

/// A matrix product as the library states it, with `count` products that lie strides apart, each the sum of `parts`
/// products whose operands lie part_a and part_b apart.
struct MatrixProduct {
  MatrixLibrary::Gemm gemm;
  i64 count = 1, stride_a = 0, stride_b = 0, stride_y = 0;
  i64 parts = 1, part_a = 0, part_b = 0;
};

/// Which way a product goes: by the group's library, by the tile program, or by the tile program as swCaffe has it
/// (single precision is converted whenever it is shared).
enum class Multiplier { library, tile_program, published };

/// The group's library where it has one, else the tile program.
Multiplier preferred_multiplier(CoreGroup& group);

/// Why the group cannot multiply that way; empty if it can.
std::string why_not(Multiplier multiplier, CoreGroup& group);

/// Seconds that the product should take by the analytic model (core/machine/estimate.h); 0 where there is none for it.
double estimated_seconds(const MachineSpec& spec, Multiplier multiplier, const MatrixProduct& product);

/// Queues the product(s). Throws PlanError where why_not says why.
void multiply(CoreGroup& group, Multiplier multiplier, const MatrixProduct& product);
inline void multiply(CoreGroup& group, Multiplier multiplier, const MatrixLibrary::Gemm& gemm) {
  multiply(group, multiplier, MatrixProduct{gemm});
}

/// Queues y (m x n) = a (m x k) b (k x n) in double by the tile program; all dense. Nets compute in float: this is for
/// measuring machines whose rate is stated in double (swCaffe section IV-A).
void multiply(CoreGroup& group, i64 m, i64 n, i64 k, const double* a, const double* b, double* y);

/// y (rows x width) += bias, one value per column.
void add_to_columns(CoreGroup& group, const float* bias, float* y, i64 rows, i64 width);

/// sums[j] += sum over image i and element e of x[i][j][e], x being outer x count x inner.
template <class T>
void sum_to_bias(CoreGroup& group, const T* x, i64 outer, i64 count, i64 inner, float* sums);

/// dy = dy where y is positive, slope dy elsewhere; then sum_to_bias of dy.
template <class T>
void rectify_and_sum(CoreGroup& group, const T* y, T* dy, i64 outer, i64 count, i64 inner, float slope, float* sums);

}  // namespace cortado
