#pragma once
#include <cmath>

#include "layers/softmax/oracle.h"

namespace cortado::oracle {

/// Loss and its gradient with respect to the scores; ignored < 0 with `ignores` false means no label is ignored.
struct SoftmaxLoss {
  Softmax softmax;
  bool ignores = false;
  int ignored = 0;
  double smoothing = 0;

  double target(i64 k, int l) const {
    return (k == l ? 1 - smoothing : 0) + smoothing / static_cast<double>(softmax.classes);
  }

  /// Positions whose label counts.
  i64 counted(const std::vector<float>& labels) const {
    i64 n = 0;
    for (const float l : labels) n += ignores && static_cast<int>(l) == ignored ? 0 : 1;
    return n;
  }

  double loss(const std::vector<float>& x, const std::vector<float>& labels, double normaliser) const {
    const auto y = softmax.forward(x);
    double sum = 0;
    each(labels, [&](i64 o, i64 i, int l) {
      for (i64 k = 0; k < softmax.classes; ++k)
        if (const double t = target(k, l); t > 0) sum -= t * std::log(double{y[softmax.at(o, k, i)]});
    });
    return sum / normaliser;
  }

  std::vector<float> gradient(const std::vector<float>& x, const std::vector<float>& labels, double normaliser) const {
    const auto y = softmax.forward(x);
    std::vector<float> dx(x.size());
    each(labels, [&](i64 o, i64 i, int l) {
      for (i64 k = 0; k < softmax.classes; ++k)
        dx[softmax.at(o, k, i)] = static_cast<float>((double{y[softmax.at(o, k, i)]} - target(k, l)) / normaliser);
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
