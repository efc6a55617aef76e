#pragma once
#include "core/machine/elementwise.h"
#include "layers/elementwise/functions.h"

namespace cortado {

/// f(x), as F::value has it.
template <class F>
struct Map {
  static constexpr const char* label = F::label;
  F f;
  template <class V>
  CORTADO_FN auto operator()(V x) const {
    return f.value(x);
  }
};

/// dy f', with f' from v, which is f's value or argument as F::from_output says.
template <class F>
struct MapGradient {
  static constexpr const char* label = F::gradient_label;
  F f;
  template <class V>
  CORTADO_FN auto operator()(V v, V dy) const {
    return dy * f.slope(v);
  }
};

}  // namespace cortado
