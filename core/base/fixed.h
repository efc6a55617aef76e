#pragma once
#include "core/base/types.h"

namespace cortado {

/// A number known to the compiler, as an argument.
template <int n>
struct Fixed {
  static constexpr int value = n;
  CORTADO_FN constexpr operator int() const { return n; }
};

}  // namespace cortado
