#pragma once
#include <cmath>

#include "layers/softmax/oracle.h"

namespace cortado::oracle {

/// Loss and its gradient with respect to the scores; ignored < 0 with `ignores` false means no label is ignored.
struct SoftmaxLoss {
  Softmax softmax;
  bool ignores = false;
  int ignored = 0;

  /// Positions whose label counts.
  i64 counted(const std::vector<float>& labels) const {
    i64 n = 0;
    for (const float l : labels) n += ignores && static_cast<int>(l) == ignored ? 0 : 1;
    return n;
  }

  double loss(const std::vector<float>& x, const std::vector<float>& labels, double normaliser) const {
    const auto y = softmax.forward(x);
    double sum = 0;
    each(labels, [&](i64 o, i64 i, int l) { sum -= std::log(double{y[softmax.at(o, l, i)]}); });
    return sum / normaliser;
  }

  std::vector<float> gradient(const std::vector<float>& x, const std::vector<float>& labels, double normaliser) const {
    const auto y = softmax.forward(x);
    std::vector<float> dx(x.size());
    each(labels, [&](i64 o, i64 i, int l) {
      for (i64 k = 0; k < softmax.classes; ++k)
        dx[softmax.at(o, k, i)] = static_cast<float>((y[softmax.at(o, k, i)] - (k == l ? 1 : 0)) / normaliser);
    });
    return dx;
  }

 private:
  template <class F>
  void each(const std::vector<float>& labels, F f) const {
    for (i64 o = 0; o < softmax.outer; ++o)
      for (i64 i = 0; i < softmax.inner; ++i) {
        const int l = static_cast<int>(labels[static_cast<std::size_t>(o * softmax.inner + i)]);
        if (!(ignores && l == ignored)) f(o, i, l);
      }
  }
};

}  // namespace cortado::oracle
