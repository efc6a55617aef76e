#pragma once
#include <vector>

#include "core/solver/norms.h"

namespace cortado {

/// Tells for each set whether it holds a value not below `limit` in size: a larger one, NaN or infinity. Codecs of that
/// limit cannot code it. It takes one launch per set and one wait for all.
std::vector<bool> any_beyond(CoreGroup& group, const std::vector<ClusterValues>& sets, float limit);

}  // namespace cortado
