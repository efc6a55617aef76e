#pragma once
#include <vector>

#include "layers/convolution/shape.h"

namespace cortado::oracle {

/// Calls f(src index, weight index, dst index) for every product of a convolution: the definition itself.
template <class F>
void for_each_product(const ConvolutionShape& s, F f) {
  for (i64 n = 0; n < s.mb; ++n)
    for (i64 o = 0; o < s.oc; ++o)
      for (i64 y = 0; y < s.oh; ++y)
        for (i64 x = 0; x < s.ow; ++x)
          for (i64 i = 0; i < s.group_ic(); ++i)
            for (i64 a = 0; a < s.kh; ++a)
              for (i64 b = 0; b < s.kw; ++b) {
                const i64 iy = y * s.sh - s.ph + a * s.dh, ix = x * s.sw - s.pw + b * s.dw;
                if (iy < 0 || iy >= s.ih || ix < 0 || ix >= s.iw) continue;
                const i64 channel = o / s.group_oc() * s.group_ic() + i;
                f(static_cast<std::size_t>(((n * s.ic + channel) * s.ih + iy) * s.iw + ix),
                  static_cast<std::size_t>(((o * s.group_ic() + i) * s.kh + a) * s.kw + b),
                  static_cast<std::size_t>(((n * s.oc + o) * s.oh + y) * s.ow + x));
              }
}

/// y; `bias` may be empty.
inline std::vector<float> convolution_forward(const ConvolutionShape& s, const std::vector<float>& x,
                                              const std::vector<float>& w, const std::vector<float>& bias) {
  std::vector<double> sums(static_cast<std::size_t>(s.mb * s.dst_image()));
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] = bias.empty() ? 0 : bias[i / static_cast<std::size_t>(s.pixels()) % static_cast<std::size_t>(s.oc)];
  for_each_product(s, [&](std::size_t i, std::size_t j, std::size_t k) { sums[k] += double{x[i]} * double{w[j]}; });
  return {sums.begin(), sums.end()};
}

struct ConvolutionGradients {
  std::vector<float> x, w, bias;
};
inline ConvolutionGradients convolution_backward(const ConvolutionShape& s, const std::vector<float>& x,
                                                 const std::vector<float>& w, const std::vector<float>& dy) {
  std::vector<double> dx(x.size()), dw(w.size()), db(static_cast<std::size_t>(s.oc));
  for_each_product(s, [&](std::size_t i, std::size_t j, std::size_t k) {
    dx[i] += double{dy[k]} * double{w[j]};
    dw[j] += double{dy[k]} * double{x[i]};
  });
  for (std::size_t k = 0; k < dy.size(); ++k)
    db[k / static_cast<std::size_t>(s.pixels()) % static_cast<std::size_t>(s.oc)] += dy[k];
  return {{dx.begin(), dx.end()}, {dw.begin(), dw.end()}, {db.begin(), db.end()}};
}

}  // namespace cortado::oracle
