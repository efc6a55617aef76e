#pragma once
#include <vector>

#include "layers/transform/transform.h"

namespace cortado::oracle {

/// The place of value (n, c, h, w) of a batch in a layout.
inline i64 place_of(Layout layout, const Shape& s, i64 n, i64 c, i64 h, i64 w) {
  const i64 block = channel_block(layout, s[1]), blocks = (s[1] + block - 1) / block;
  if (layout == Layout::hwcn) return ((h * s[3] + w) * s[1] + c) * s[0] + n;
  return (((n * blocks + c / block) * s[2] + h) * s[3] + w) * block + c % block;
}

inline std::vector<float> transform(Layout from, Layout to, const Shape& s, const std::vector<float>& x) {
  std::vector<float> y(static_cast<std::size_t>(floats_of(to, s)));
  for (i64 n = 0; n < s[0]; ++n)
    for (i64 c = 0; c < s[1]; ++c)
      for (i64 h = 0; h < s[2]; ++h)
        for (i64 w = 0; w < s[3]; ++w)
          y[static_cast<std::size_t>(place_of(to, s, n, c, h, w))] =
              x[static_cast<std::size_t>(place_of(from, s, n, c, h, w))];
  return y;
}

}  // namespace cortado::oracle
