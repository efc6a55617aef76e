#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/types.h"

/// Losses as their definitions have them, in double. Gradients are checked against differences instead.
namespace cortado::oracle {

inline double euclidean_loss(const std::vector<float>& a, const std::vector<float>& b, i64 samples) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(double{a[i]} - double{b[i]}, 2);
  return sum / static_cast<double>(2 * samples);
}

/// Sum, not divided; targets that are `ignored` are left out and counted.
inline double sigmoid_cross_entropy(const std::vector<float>& x, const std::vector<float>& t, int ignored,
                                    i64& counted) {
  double sum = 0;
  counted = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (static_cast<int>(t[i]) == ignored) continue;
    const double s = 1 / (1 + std::exp(-double{x[i]}));
    sum -= double{t[i]} * std::log(s) + (1 - double{t[i]}) * std::log(1 - s);
    ++counted;
  }
  return sum;
}

inline double hinge_loss(const std::vector<float>& x, const std::vector<float>& labels, bool squared) {
  const std::size_t classes = x.size() / labels.size();
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double sign = static_cast<float>(i % classes) == labels[i / classes] ? -1 : 1;
    const double margin = std::max(0.0, 1 + sign * double{x[i]});
    sum += squared ? margin * margin : margin;
  }
  return sum / static_cast<double>(labels.size());
}

inline double multinomial_logistic_loss(const std::vector<float>& p, const std::vector<float>& labels) {
  const std::size_t classes = p.size() / labels.size();
  double sum = 0;
  for (std::size_t i = 0; i < labels.size(); ++i)
    sum -= std::log(std::max(1e-20, double{p[i * classes + static_cast<std::size_t>(labels[i])]}));
  return sum / static_cast<double>(labels.size());
}

inline double contrastive_loss(const std::vector<float>& a, const std::vector<float>& b,
                               const std::vector<float>& similar, double margin, bool legacy) {
  const std::size_t width = a.size() / similar.size();
  double sum = 0;
  for (std::size_t n = 0; n < similar.size(); ++n) {
    double square = 0;
    for (std::size_t i = n * width; i < (n + 1) * width; ++i) square += std::pow(double{a[i]} - double{b[i]}, 2);
    if (similar[n] != 0)
      sum += square;
    else
      sum += legacy ? std::max(0.0, margin - square) : std::pow(std::max(0.0, margin - std::sqrt(square)), 2);
  }
  return sum / static_cast<double>(2 * similar.size());
}

}  // namespace cortado::oracle
