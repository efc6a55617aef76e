#pragma once
#include "core/machine/elementwise.h"
#include "core/machine/rectify.h"

namespace cortado {

struct Rectified {
  static constexpr const char* label = "relu_forward";
  Rectify rectify;
  template <class V>
  CORTADO_FN auto operator()(V x) const {
    return rectify(x);
  }
};

/// The gradient of Rectified. y is the forward input, or its result, which has the same sign for slopes >= 0 and is all
/// there is after running in place.
struct RectifiedGradient {
  static constexpr const char* label = "relu_backward";
  Rectify::PlainGradient gradient;
  template <class V>
  CORTADO_FN auto operator()(V y, V dy) const {
    return gradient(y, dy);
  }
};

}  // namespace cortado
