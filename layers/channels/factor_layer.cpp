#include "layers/channels/factor_layer.h"

namespace cortado {

Shape FactorLayer::learned_shape(const Blob& bottom, int axis, int axes) const {
  const int first = bottom.canonical_axis(axis), count = axes == -1 ? bottom.axes() - first : axes;
  if (count < 0 || first + count > bottom.axes())
    bad_config("num_axes " + std::to_string(axes) + " from axis " + std::to_string(first) +
               " exceeds the bottom's shape " + to_string(bottom.shape()));
  return {bottom.shape().begin() + first, bottom.shape().begin() + first + count};
}

Channels FactorLayer::place(const Blob& factor, const Blob& bottom, int axis) const {
  const int first = factor.axes() == 0 ? 0 : bottom.canonical_axis(axis);
  bool fits = first + factor.axes() <= bottom.axes();
  for (int d = 0; fits && d < factor.axes(); ++d) fits = factor.dim(d) == bottom.dim(first + d);
  if (!fits)
    bad_shape("a factor of shape " + to_string(factor.shape()) + " does not lie in the bottom's " +
              to_string(bottom.shape()) + " from axis " + std::to_string(first));
  return {bottom.count(0, first), factor.count(), bottom.count(first + factor.axes()), bottom.layout()};
}

}  // namespace cortado
