#pragma once
#include "core/machine/elementwise.h"

namespace cortado {

/// The sum, from the first on.
struct AddUp {
  static constexpr const char* label = "add_up";
  template <class... V>
  CORTADO_FN auto operator()(V... values) const {
    return (... + values);
  }
};

}  // namespace cortado
