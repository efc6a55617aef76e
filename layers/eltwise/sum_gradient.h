#pragma once
#include "core/net/layer.h"
#include "layers/eltwise/programs.h"

namespace cortado {

/// Of a sum's tops, one or two that share its values: their gradients together, times `slope` where the sum is not
/// positive if it `rectifies`. Where results go is to be filled in.
template <class T, int gradients>
SumGradient<T, gradients> sum_gradient(const Layer::Blobs& top, bool rectifies, float slope);
/// For n values. Fills in the rest.
template <class T, int gradients>
void launch(CoreGroup& group, SumGradient<T, gradients> p, i64 n);

/// Makes the gradient of a bottom that the sum has as it is.
template <class T>
void gradient_of_sum(CoreGroup& group, const Layer::Blobs& top, bool rectifies, float slope, Blob& bottom);

}  // namespace cortado
