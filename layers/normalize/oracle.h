#pragma once
#include <cmath>
#include <vector>

#include "core/base/types.h"

namespace cortado::oracle {

/// y = scale x / sqrt(eps + sum of x^2) for outer x channels x inner values. The sum is over channels, or over all of
/// one `outer` if `across`; `scale` has one value or one for each channel.
struct Normalize {
  i64 outer, channels, inner;
  bool across;
  double eps;

  std::size_t channel(i64 i, const std::vector<float>& scale) const {
    return scale.size() == 1 ? 0 : static_cast<std::size_t>(i / inner % channels);
  }
  /// The number of the sum that value i belongs to.
  std::size_t sum(i64 i) const {
    const i64 sample = i / (channels * inner);
    return static_cast<std::size_t>(across ? sample : sample * inner + i % inner);
  }
  std::vector<double> norms(const std::vector<float>& x) const {
    std::vector<double> sums(static_cast<std::size_t>(across ? outer : outer * inner), eps);
    for (std::size_t i = 0; i < x.size(); ++i) sums[sum(static_cast<i64>(i))] += double{x[i]} * double{x[i]};
    for (double& s : sums) s = std::sqrt(s);
    return sums;
  }
  std::vector<float> forward(const std::vector<float>& x, const std::vector<float>& scale) const {
    const auto norm = norms(x);
    std::vector<float> y;
    for (std::size_t k = 0; k < x.size(); ++k) {
      const auto i = static_cast<i64>(k);
      y.push_back(static_cast<float>(double{x[k]} / norm[sum(i)] * double{scale[channel(i, scale)]}));
    }
    return y;
  }
  struct Gradients {
    std::vector<float> x, scale;
  };
  Gradients backward(const std::vector<float>& x, const std::vector<float>& scale, const std::vector<float>& dy) const {
    const auto norm = norms(x);
    std::vector<double> dots(norm.size()), of_scale(scale.size());
    for (std::size_t k = 0; k < x.size(); ++k) {
      const auto i = static_cast<i64>(k);
      const double product = double{x[k]} * double{dy[k]};
      dots[sum(i)] += product * double{scale[channel(i, scale)]};
      of_scale[channel(i, scale)] += product / norm[sum(i)];
    }
    Gradients g{{}, {of_scale.begin(), of_scale.end()}};
    for (std::size_t k = 0; k < x.size(); ++k) {
      const auto i = static_cast<i64>(k);
      const double n = norm[sum(i)];
      g.x.push_back(static_cast<float>(
          (double{dy[k]} * double{scale[channel(i, scale)]} - double{x[k]} * dots[sum(i)] / (n * n)) / n));
    }
    return g;
  }
};

}  // namespace cortado::oracle
