#pragma once
#include <vector>

#include "core/tensor/blob.h"

namespace cortado {

/// The most axes of an array that permuted_copy takes.
constexpr int most_permuted_axes = 8;

/// Queues a copy of an array of `shape` to one whose axis d is axis order[d] of it. `order` names every axis once.
void permuted_copy(CoreGroup& group, const Shape& shape, const std::vector<int>& order, const float* from, float* to);

}  // namespace cortado
