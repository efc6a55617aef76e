#pragma once
#include "core/machine/elementwise.h"

namespace cortado {

/// a + b.
struct AddPairs {
  static constexpr const char* label = "split_backward";
  template <class V>
  CORTADO_FN auto operator()(V a, V b) const {
    return a + b;
  }
};

}  // namespace cortado
