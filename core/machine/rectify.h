#pragma once
#include <limits>

#include "core/machine/math.h"

namespace cortado {

/// A rectifier for cluster programs: v up to `limit` where v is positive, slope v elsewhere. Slope 1 without a limit
/// leaves all values as they are. Only slope 0 goes with a limit.
struct Rectify {
  static constexpr float no_limit = std::numeric_limits<float>::infinity();
  /// Gradients count by `slope` up to here, inclusive. Caffe's Clip lets them pass at 0, its ReLU does not.
  static constexpr float zero_passes = -std::numeric_limits<float>::min();
  float slope = 1, limit = no_limit, below = 0;

  template <class V>
  CORTADO_FN auto operator()(V v) const {
    return math::select(v > 0.0f, math::min(v, V(limit)), slope * v);
  }

  /// The gradient of v, whose rectified value has the gradient dy.
  struct Gradient {
    float slope, limit, below;
    template <class V, class W>
    CORTADO_FN auto operator()(V v, W dy) const {
      return math::select(v > below, math::select(v > limit, slope * dy, dy), slope * dy);
    }
  };
  /// The same without a limit.
  struct PlainGradient {
    float slope;
    template <class V, class W>
    CORTADO_FN auto operator()(V v, W dy) const {
      return math::select(v > 0.0f, dy, slope * dy);
    }
  };
  /// Calls use(gradient) with one of the two: where loops compare with a limit, BatchNorm takes 1.4 times as long.
  template <class Use>
  CORTADO_FN void with_gradient(Use use) const {
    if (limit == no_limit && below == 0)
      use(PlainGradient{slope});
    else
      use(Gradient{slope, limit, below});
  }
};

}  // namespace cortado
