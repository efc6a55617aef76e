#pragma once
#include "core/machine/launch_elementwise.h"
#include "layers/cast/programs.h"

namespace cortado {

/// Queues y = x, n elements; of float and bf16, one is X and the other Y.
template <class X, class Y>
void convert(CoreGroup& group, const X* x, Y* y, i64 n) {
  elementwise(group, n, Convert{}, from(x), to(y));
}

}  // namespace cortado
