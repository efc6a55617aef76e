#pragma once
#include <vector>

#include "core/base/types.h"

namespace cortado::oracle {

/// Plain loops for InnerProduct: x is rows x terms, w is outputs x terms (terms x outputs if `transpose`).
struct InnerProduct {
  i64 rows, terms, outputs;
  bool transpose = false;

  std::size_t weight(i64 o, i64 k) const {
    return static_cast<std::size_t>(transpose ? k * outputs + o : o * terms + k);
  }

  /// `bias` may be empty.
  std::vector<float> forward(const std::vector<float>& x, const std::vector<float>& w,
                             const std::vector<float>& bias) const {
    std::vector<float> y;
    for (i64 r = 0; r < rows; ++r)
      for (i64 o = 0; o < outputs; ++o) {
        double sum = bias.empty() ? 0 : bias[static_cast<std::size_t>(o)];
        for (i64 k = 0; k < terms; ++k)
          sum += double{x[static_cast<std::size_t>(r * terms + k)]} * double{w[weight(o, k)]};
        y.push_back(static_cast<float>(sum));
      }
    return y;
  }

  struct Gradients {
    std::vector<float> x, w, bias;
  };
  Gradients backward(const std::vector<float>& x, const std::vector<float>& w, const std::vector<float>& dy) const {
    std::vector<double> dx(x.size()), dw(w.size()), db(static_cast<std::size_t>(outputs));
    for (i64 r = 0; r < rows; ++r)
      for (i64 o = 0; o < outputs; ++o) {
        const double d = dy[static_cast<std::size_t>(r * outputs + o)];
        db[static_cast<std::size_t>(o)] += d;
        for (i64 k = 0; k < terms; ++k) {
          dx[static_cast<std::size_t>(r * terms + k)] += d * double{w[weight(o, k)]};
          dw[weight(o, k)] += d * double{x[static_cast<std::size_t>(r * terms + k)]};
        }
      }
    return {{dx.begin(), dx.end()}, {dw.begin(), dw.end()}, {db.begin(), db.end()}};
  }
};

}  // namespace cortado::oracle
