#pragma once
#include "core/machine/core_group.h"

namespace cortado {

/// Queues to = from, n elements; of float and bf16, one is From and the other To.
template <class From, class To>
void convert(CoreGroup& group, const From* from, To* to, i64 n);

}  // namespace cortado
