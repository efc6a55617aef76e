#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/types.h"

namespace cortado::oracle {

/// Softmax over the classes of an outer x classes x inner array, in double.
struct Softmax {
  i64 outer, classes, inner;

  std::size_t at(i64 o, i64 k, i64 i) const { return static_cast<std::size_t>((o * classes + k) * inner + i); }

  std::vector<float> forward(const std::vector<float>& x) const {
    std::vector<float> y(x.size());
    for (i64 o = 0; o < outer; ++o)
      for (i64 i = 0; i < inner; ++i) {
        double top = x[at(o, 0, i)], sum = 0;
        for (i64 k = 1; k < classes; ++k) top = std::max(top, double{x[at(o, k, i)]});
        for (i64 k = 0; k < classes; ++k) sum += std::exp(x[at(o, k, i)] - top);
        for (i64 k = 0; k < classes; ++k) y[at(o, k, i)] = static_cast<float>(std::exp(x[at(o, k, i)] - top) / sum);
      }
    return y;
  }

  std::vector<float> backward(const std::vector<float>& y, const std::vector<float>& dy) const {
    std::vector<float> dx(y.size());
    for (i64 o = 0; o < outer; ++o)
      for (i64 i = 0; i < inner; ++i) {
        double dot = 0;
        for (i64 k = 0; k < classes; ++k) dot += double{y[at(o, k, i)]} * double{dy[at(o, k, i)]};
        for (i64 k = 0; k < classes; ++k)
          dx[at(o, k, i)] = static_cast<float>(y[at(o, k, i)] * (dy[at(o, k, i)] - dot));
      }
    return dx;
  }
};

}  // namespace cortado::oracle
