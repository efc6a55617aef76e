#pragma once
#include "core/base/random.h"
#include "core/machine/elementwise.h"

namespace cortado {

/// x scale where the element of the random stream with its number is kept, 0 elsewhere: forward on values and backward
/// on gradients alike, because the mask is a function of the element's number.
struct Dropout {
  static constexpr const char* label = "dropout";
  std::uint64_t key;
  float ratio, scale;
  template <class V>
  CORTADO_FN auto operator()(i64 number, V x) const {
    const bool keep = random_uniform(key, static_cast<std::uint64_t>(number)) >= ratio;
    return math::select(keep, x * scale, 0.0f);
  }
};

}  // namespace cortado
