#pragma once
#include "core/machine/elementwise.h"
#include "layers/channels/programs.h"

namespace cortado {

/// x where it is positive, the channel's slope times x elsewhere.
struct PReluForward {
  static constexpr const char* label = "prelu_forward";
  template <class V>
  CORTADO_FN auto operator()(V x, float slope) const {
    return math::select(x > 0.0f, x, slope * x);
  }
};

/// dy where x is positive, the channel's slope times dy elsewhere.
struct PReluBackward {
  static constexpr const char* label = "prelu_backward";
  template <class V>
  CORTADO_FN auto operator()(V x, V dy, float slope) const {
    return math::select(x > 0.0f, dy, slope * dy);
  }
};

/// x dy where x is not positive, 0 elsewhere: what the gradient of a channel's slope sums up.
struct PReluSlopes {
  static constexpr const char* label = "prelu_slopes";
  template <class V>
  CORTADO_FN static auto term(V x, V dy) {
    return math::select(x > 0.0f, 0.0f, x * dy);
  }
};

}  // namespace cortado
