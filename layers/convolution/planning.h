#pragma once
#include "core/machine/integers.h"
#include "core/machine/planned.h"
#include "layers/channels/other_gradient.h"
#include "layers/convolution/set_or_add.h"

namespace cortado {

/// Books lines to join another gradient, in runs of up to `pixels` pixels.
template <class T>
void book(OtherGradient<T>& p, i64 pixels, PlanBuilder& builder) {
  p.values_buf = builder.line<float>("other gradient", pixels * block_channels, Depth::two);
  p.x_buf = builder.line<float>("what was rectified", pixels * block_channels, Depth::two);
}

/// Books lines of up to `weights` weights.
inline void book(SetOrAdd& p, i64 weights, PlanBuilder& builder) {
  p.set_buf = builder.tile<float>("gradients of weights", weights, 1);
  p.add_buf = builder.line<float>("gradients of weights", weights, 1);
}

/// Divides `all` into smaller equal parts than `part`, step by step, while `is_wrong`.
template <class Condition>
void shrink(i64& part, i64 all, const Condition& is_wrong) {
  while (part > 1 && is_wrong()) part = even_part(all, part - 1);
}

}  // namespace cortado
