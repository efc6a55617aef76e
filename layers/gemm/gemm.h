#pragma once
#include <string>

#include "core/machine/core_group.h"

namespace cortado {

/// A matrix product of the library's form, repeated. There are `count` products, strides apart. Each is the sum of
/// `parts` products whose operands lie part_a and part_b apart.
struct MatrixProduct {
  MatrixLibrary::Gemm gemm;
  i64 count = 1, stride_a = 0, stride_b = 0, stride_y = 0;
  i64 parts = 1, part_a = 0, part_b = 0;
};

/// The way of a product: the group's library, the tile program, or the tile program as swCaffe has it. That one
/// converts single precision whenever it is shared.
enum class Multiplier { library, tile_program, published };

/// The group's library where it has one, else the tile program.
Multiplier preferred_multiplier(CoreGroup& group);

/// The reason why the group cannot multiply that way; empty means that it can.
std::string why_not(Multiplier multiplier, CoreGroup& group);

/// The product's seconds by the analytic model (core/machine/estimate.h); 0 where there is no estimate.
double estimated_seconds(const MachineSpec& spec, Multiplier multiplier, const MatrixProduct& product);

/// Queues the product(s). Throws PlanError with why_not's reason.
void multiply(CoreGroup& group, Multiplier multiplier, const MatrixProduct& product);
inline void multiply(CoreGroup& group, Multiplier multiplier, const MatrixLibrary::Gemm& gemm) {
  multiply(group, multiplier, MatrixProduct{gemm});
}

/// Queues y (m x n) = a (m x k) b (k x n) in double by the tile program; all are dense. Nets compute in float. This
/// measures machines whose rate is stated in double (swCaffe section IV-A).
void multiply(CoreGroup& group, i64 m, i64 n, i64 k, const double* a, const double* b, double* y);

/// Queues y (rows x width) += bias, one value per column.
void add_to_columns(CoreGroup& group, const float* bias, float* y, i64 rows, i64 width);

/// sums[j] += the sum of column j of x (rows x width).
template <class T>
void sum_columns(CoreGroup& group, const T* x, i64 rows, i64 width, float* sums);

}  // namespace cortado
