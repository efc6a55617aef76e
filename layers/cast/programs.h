#pragma once
#include "core/machine/elementwise.h"

namespace cortado {

/// The same value, stored as another type.
struct Convert {
  static constexpr const char* label = "convert";
  template <class V>
  CORTADO_FN auto operator()(V x) const {
    return x;
  }
};

}  // namespace cortado
