#pragma once
#include <vector>

#include "core/solver/norms.h"

namespace cortado {

/// For each whether it holds a value that is not below `limit` in size, which codecs of that limit cannot code: larger
/// ones, NaN, infinity. One launch per set of values and one wait for all.
std::vector<bool> any_beyond(CoreGroup& group, const std::vector<Values>& sets, float limit);

}  // namespace cortado
