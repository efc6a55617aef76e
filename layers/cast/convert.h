#pragma once
#include "core/machine/core_group.h"

namespace cortado {

/// Queues to = from, n elements. From and To are float and bf16, or the other way round.
template <class From, class To>
void convert(CoreGroup& group, const From* from, To* to, i64 n);

}  // namespace cortado
