#pragma once
#include <vector>

#include "core/base/types.h"

namespace cortado::oracle {

/// Element by element over several arrays of one length.
enum class Eltwise { sum, product, largest };
using Arrays = std::vector<std::vector<float>>;

/// Which array holds the largest value at e: the first of those that have it, but among the first two the second
/// (Caffe's rule).
inline std::size_t largest_at(const Arrays& x, std::size_t e) {
  std::size_t best = x[0][e] > x[1][e] ? 0 : 1;
  for (std::size_t i = 2; i < x.size(); ++i)
    if (x[i][e] > x[best][e]) best = i;
  return best;
}

inline std::vector<float> eltwise_forward(Eltwise operation, const Arrays& x, const std::vector<float>& weights) {
  std::vector<float> y;
  for (std::size_t e = 0; e < x[0].size(); ++e) {
    double sum = 0, product = 1;
    for (std::size_t i = 0; i < x.size(); ++i) sum += double{weights[i]} * double{x[i][e]}, product *= double{x[i][e]};
    y.push_back(operation == Eltwise::sum       ? static_cast<float>(sum)
                : operation == Eltwise::product ? static_cast<float>(product)
                                                : x[largest_at(x, e)][e]);
  }
  return y;
}

/// Gradient of array i.
inline std::vector<float> eltwise_backward(Eltwise operation, const Arrays& x, const std::vector<float>& weights,
                                           const std::vector<float>& dy, std::size_t i) {
  std::vector<float> dx;
  for (std::size_t e = 0; e < dy.size(); ++e) {
    double slope = operation == Eltwise::sum ? double{weights[i]} : 1;
    for (std::size_t j = 0; operation == Eltwise::product && j < x.size(); ++j)
      if (j != i) slope *= double{x[j][e]};
    if (operation == Eltwise::largest) slope = largest_at(x, e) == i ? 1 : 0;
    dx.push_back(static_cast<float>(slope * double{dy[e]}));
  }
  return dx;
}

}  // namespace cortado::oracle
