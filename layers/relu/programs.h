#pragma once
#include "core/machine/elementwise.h"

namespace cortado {

/// x where it is positive, slope x elsewhere.
struct Rectify {
  static constexpr const char* label = "relu_forward";
  float slope;
  template <class V>
  CORTADO_FN auto operator()(V x) const {
    return math::select(x > 0.0f, x, slope * x);
  }
};

/// dy where y is positive, slope dy elsewhere. y is the forward input, or its result, which has the same sign for
/// slopes >= 0 and is all there is after running in place.
struct RectifiedGradient {
  static constexpr const char* label = "relu_backward";
  float slope;
  template <class V>
  CORTADO_FN auto operator()(V y, V dy) const {
    return math::select(y > 0.0f, dy, slope * dy);
  }
};

}  // namespace cortado
