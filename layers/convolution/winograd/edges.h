#pragma once
#include <algorithm>

#include "core/machine/integers.h"
#include "layers/convolution/winograd/programs.h"

namespace cortado {
namespace winograd {

/// Terms of a line of weights: enough to be worth a launch's line, few enough to spread.
constexpr i64 line_terms = 16;

/// Outputs of the last tile of so many pixels.
template <class F>
i64 last_outputs(i64 pixels) {
  const i64 beyond = ceil_div(pixels, F::outputs) * F::outputs - pixels;
  return std::max(F::least, F::outputs - beyond / F::fewer * F::fewer);
}
/// Points of so many pixels one way.
template <class F>
i64 points_of(i64 pixels) {
  return (ceil_div(pixels, F::outputs) - 1) * F::points + last_outputs<F>(pixels) + F::kernel - 1;
}

}  // namespace winograd
}  // namespace cortado
