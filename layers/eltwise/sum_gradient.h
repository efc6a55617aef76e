#pragma once
#include "core/net/layer.h"

namespace cortado {

/// The gradients of one or two bottoms of a sum, dx[i] = w[i] times the gradient of the sum: of its tops, one or two
/// that share its values, together, times `slope` where the sum is not positive if it `rectifies`. T: float or bf16.
template <class T>
void gradients_of_sum(CoreGroup& group, const Layer::Blobs& top, bool rectifies, float slope, const std::vector<T*>& dx,
                      const std::vector<float>& w);

/// Computes the gradient of a bottom that the sum adds without a factor.
template <class T>
void gradient_of_sum(CoreGroup& group, const Layer::Blobs& top, bool rectifies, float slope, Blob& bottom) {
  gradients_of_sum<T>(group, top, rectifies, slope, {bottom.mutable_diff<T>()}, {1});
}

}  // namespace cortado
