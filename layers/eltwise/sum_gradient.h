#pragma once
#include "core/net/layer.h"
#include "layers/eltwise/programs.h"

namespace cortado {

/// The gradient of a sum from its tops, one or two that share its values. If it `rectifies`, it counts `slope` times
/// where the sum is not positive. The caller fills in the results' addresses.
template <class T, int gradients>
SumGradient<T, gradients> sum_gradient(const Layer::Blobs& top, bool rectifies, float slope);
/// Launches it on n values. Fills in the rest.
template <class T, int gradients>
void launch(CoreGroup& group, SumGradient<T, gradients> p, i64 n);

/// Computes the gradient of a bottom that the sum adds without a factor.
template <class T>
void gradient_of_sum(CoreGroup& group, const Layer::Blobs& top, bool rectifies, float slope, Blob& bottom);

}  // namespace cortado
