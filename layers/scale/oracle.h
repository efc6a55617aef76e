#pragma once
#include <vector>

#include "core/base/types.h"

namespace cortado::oracle {

/// y = x scale + bias for an outer x scales x inner array, in double; an empty bias is zero.
struct Scale {
  i64 outer, scales, inner;

  template <class F>
  void for_each(F f) const {
    for (i64 o = 0; o < outer; ++o)
      for (i64 s = 0; s < scales; ++s)
        for (i64 i = 0; i < inner; ++i)
          f(static_cast<std::size_t>((o * scales + s) * inner + i), static_cast<std::size_t>(s));
  }
  std::vector<float> forward(const std::vector<float>& x, const std::vector<float>& scale,
                             const std::vector<float>& bias) const {
    std::vector<float> y(x.size());
    for_each([&](std::size_t e, std::size_t s) {
      y[e] = static_cast<float>(double{x[e]} * double{scale[s]} + (bias.empty() ? 0.0 : double{bias[s]}));
    });
    return y;
  }
  std::vector<float> backward(const std::vector<float>& dy, const std::vector<float>& scale) const {
    return forward(dy, scale, {});
  }
  /// Gradient of the scale; with x all ones, that of the bias.
  std::vector<float> scale_gradient(const std::vector<float>& x, const std::vector<float>& dy) const {
    std::vector<double> sums(static_cast<std::size_t>(scales));
    for_each([&](std::size_t e, std::size_t s) { sums[s] += double{x[e]} * double{dy[e]}; });
    return {sums.begin(), sums.end()};
  }
};

}  // namespace cortado::oracle
