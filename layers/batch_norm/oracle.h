#pragma once
#include <cmath>
#include <vector>

#include "core/base/types.h"

namespace cortado::oracle {

/// Batch normalisation over the channels of an outer x channels x inner array, in double.
struct BatchNorm {
  i64 outer, channels, inner;
  double eps = 1e-5;

  std::size_t at(i64 o, i64 c, i64 i) const { return static_cast<std::size_t>((o * channels + c) * inner + i); }
  double values() const { return static_cast<double>(outer * inner); }

  /// Sum of f(index) over a channel.
  template <class F>
  double sum(i64 c, F f) const {
    double total = 0;
    for (i64 o = 0; o < outer; ++o)
      for (i64 i = 0; i < inner; ++i) total += f(at(o, c, i));
    return total;
  }
  std::vector<double> means(const std::vector<float>& x) const {
    std::vector<double> mean;
    for (i64 c = 0; c < channels; ++c) mean.push_back(sum(c, [&](std::size_t e) { return x[e]; }) / values());
    return mean;
  }
  /// Biased.
  std::vector<double> variances(const std::vector<float>& x) const {
    const auto mean = means(x);
    std::vector<double> variance;
    for (i64 c = 0; c < channels; ++c) {
      const double m = mean[static_cast<std::size_t>(c)];
      variance.push_back(sum(c, [&](std::size_t e) { return (x[e] - m) * (x[e] - m); }) / values());
    }
    return variance;
  }
  std::vector<float> forward(const std::vector<float>& x, const std::vector<double>& mean,
                             const std::vector<double>& variance) const {
    std::vector<float> y(x.size());
    for (i64 c = 0; c < channels; ++c) {
      const auto k = static_cast<std::size_t>(c);
      const double scale = 1 / std::sqrt(variance[k] + eps);
      sum(c, [&](std::size_t e) {
        y[e] = static_cast<float>((x[e] - mean[k]) * scale);
        return 0.0;
      });
    }
    return y;
  }
  /// The gradient with the batch's own statistics: dx = (dy - mean(dy) - y mean(dy y)) / sqrt(variance + eps).
  std::vector<float> backward(const std::vector<float>& x, const std::vector<float>& dy) const {
    const auto mean = means(x), variance = variances(x);
    std::vector<float> dx(x.size());
    for (i64 c = 0; c < channels; ++c) {
      const auto k = static_cast<std::size_t>(c);
      const double scale = 1 / std::sqrt(variance[k] + eps);
      const auto y = [&](std::size_t e) { return (x[e] - mean[k]) * scale; };
      const double a = sum(c, [&](std::size_t e) { return dy[e]; }) / values();
      const double b = sum(c, [&](std::size_t e) { return dy[e] * y(e); }) / values();
      sum(c, [&](std::size_t e) {
        dx[e] = static_cast<float>((dy[e] - a - y(e) * b) * scale);
        return 0.0;
      });
    }
    return dx;
  }
};

}  // namespace cortado::oracle
