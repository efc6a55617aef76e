#pragma once
#include <optional>

#include "core/tensor/blob.h"

namespace cortado {

/// Elements of a shape that a file claims: none where it means nothing, because a dimension is negative or the elements
/// are beyond counting.
std::optional<i64> counted(const Shape& shape);

}  // namespace cortado
