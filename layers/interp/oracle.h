#pragma once
#include <algorithm>
#include <functional>
#include <vector>

#include "core/base/types.h"

namespace cortado::oracle {

/// Bilinear interpolation, corners upon corners, of the window of planes of height x width that begins at (begin,
/// begin) and has h x w values, to out_h x out_w.
struct Interp {
  i64 planes, height, width, begin, h, w, out_h, out_w;

  /// use(output, input, part) for all that outputs are made of.
  void each(const std::function<void(std::size_t, std::size_t, double)>& use) const {
    const auto between = [](i64 o, i64 in, i64 out) {
      const double at =
          out > 1 ? static_cast<double>(o) * static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
      const i64 below = std::min(static_cast<i64>(at + 1e-9), in - 1);
      return std::make_pair(below, at - static_cast<double>(below));
    };
    for (i64 p = 0; p < planes; ++p)
      for (i64 y = 0; y < out_h; ++y)
        for (i64 x = 0; x < out_w; ++x)
          for (const int down : {0, 1})
            for (const int right : {0, 1}) {
              const auto [row, fy] = between(y, h, out_h);
              const auto [col, fx] = between(x, w, out_w);
              const i64 r = begin + std::min(row + down, h - 1), k = begin + std::min(col + right, w - 1);
              use(static_cast<std::size_t>((p * out_h + y) * out_w + x),
                  static_cast<std::size_t>((p * height + r) * width + k),
                  (down == 1 ? fy : 1 - fy) * (right == 1 ? fx : 1 - fx));
            }
  }
  std::vector<float> forward(const std::vector<float>& x) const {
    std::vector<double> y(static_cast<std::size_t>(planes * out_h * out_w));
    each([&](std::size_t o, std::size_t i, double part) { y[o] += part * double{x[i]}; });
    return {y.begin(), y.end()};
  }
  std::vector<float> backward(const std::vector<float>& dy) const {
    std::vector<double> dx(static_cast<std::size_t>(planes * height * width));
    each([&](std::size_t o, std::size_t i, double part) { dx[i] += part * double{dy[o]}; });
    return {dx.begin(), dx.end()};
  }
};

}  // namespace cortado::oracle
