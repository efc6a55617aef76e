#pragma once
#include <vector>

#include "core/base/types.h"

namespace cortado::oracle {

/// y = a x + b for rows of `width` values with a factor each, and its gradients.
struct Axpy {
  i64 width;

  std::size_t row(std::size_t i) const { return i / static_cast<std::size_t>(width); }
  std::vector<float> forward(const std::vector<float>& a, const std::vector<float>& x,
                             const std::vector<float>& b) const {
    std::vector<float> y;
    for (std::size_t i = 0; i < x.size(); ++i) y.push_back(a[row(i)] * x[i] + b[i]);
    return y;
  }
  std::vector<float> gradient_of_x(const std::vector<float>& a, const std::vector<float>& dy) const {
    std::vector<float> dx;
    for (std::size_t i = 0; i < dy.size(); ++i) dx.push_back(a[row(i)] * dy[i]);
    return dx;
  }
  std::vector<float> gradient_of_a(const std::vector<float>& x, const std::vector<float>& dy, std::size_t rows) const {
    std::vector<double> sums(rows);
    for (std::size_t i = 0; i < x.size(); ++i) sums[row(i)] += double{x[i]} * double{dy[i]};
    return {sums.begin(), sums.end()};
  }
};

}  // namespace cortado::oracle
