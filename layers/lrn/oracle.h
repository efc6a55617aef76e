#pragma once
#include <cmath>
#include <vector>

#include "core/base/types.h"

namespace cortado::oracle {

/// Local response normalisation of an N x C x H x W array, in double: y = x s^-beta with s = k + share * the sum of
/// squares over a window of (2 reach + 1) channels, or of that many rows and columns.
struct Lrn {
  i64 n, c, h, w;
  bool across;
  i64 reach;
  double share, k, beta;

  std::size_t at(i64 i, i64 j, i64 y, i64 x) const { return static_cast<std::size_t>(((i * c + j) * h + y) * w + x); }
  bool inside(i64 j, i64 y, i64 x) const { return j >= 0 && j < c && y >= 0 && y < h && x >= 0 && x < w; }

  /// f(element, sum over its window of g(neighbour)).
  template <class G, class F>
  void windows(G g, F f) const {
    const i64 rows = across ? 0 : reach;
    for (i64 i = 0; i < n; ++i)
      for (i64 j = 0; j < c; ++j)
        for (i64 y = 0; y < h; ++y)
          for (i64 x = 0; x < w; ++x) {
            double sum = 0;
            for (i64 a = -reach; a <= reach; ++a)
              for (i64 b = -rows; b <= rows; ++b) {
                const i64 jj = across ? j + a : j, yy = across ? y : y + a, xx = x + b;
                if (inside(jj, yy, xx)) sum += g(at(i, jj, yy, xx));
              }
            f(at(i, j, y, x), sum);
          }
  }
  std::vector<double> scales(const std::vector<float>& x) const {
    std::vector<double> s(x.size());
    windows([&](std::size_t e) { return double{x[e]} * double{x[e]}; },
            [&](std::size_t e, double sum) { s[e] = k + share * sum; });
    return s;
  }
  std::vector<float> forward(const std::vector<float>& x) const {
    const auto s = scales(x);
    std::vector<float> y;
    for (std::size_t e = 0; e < x.size(); ++e) y.push_back(static_cast<float>(x[e] * std::pow(s[e], -beta)));
    return y;
  }
  std::vector<float> backward(const std::vector<float>& x, const std::vector<float>& dy) const {
    const auto s = scales(x);
    std::vector<float> dx(x.size());
    windows([&](std::size_t e) { return dy[e] * x[e] * std::pow(s[e], -beta - 1); },
            [&](std::size_t e, double sum) {
              dx[e] = static_cast<float>(dy[e] * std::pow(s[e], -beta) - 2 * share * beta * x[e] * sum);
            });
    return dx;
  }
};

}  // namespace cortado::oracle
