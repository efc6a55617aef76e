#pragma once
#include <vector>

#include "core/base/types.h"

namespace cortado::oracle {

/// For each value of planes of h sh x w sw values, the pixel of planes of h x w whose repetition it is.
inline std::vector<std::size_t> repeated_pixels(i64 planes, i64 h, i64 w, i64 sh, i64 sw) {
  std::vector<std::size_t> from;
  for (i64 p = 0; p < planes; ++p)
    for (i64 y = 0; y < h * sh; ++y)
      for (i64 x = 0; x < w * sw; ++x) from.push_back(static_cast<std::size_t>((p * h + y / sh) * w + x / sw));
  return from;
}

/// For each pixel of planes of `pixels` pixels, the value of planes of `places` values that its mask names.
inline std::vector<std::size_t> masked_places(const std::vector<float>& mask, i64 pixels, i64 places) {
  std::vector<std::size_t> to;
  for (std::size_t i = 0; i < mask.size(); ++i)
    to.push_back(i / static_cast<std::size_t>(pixels) * static_cast<std::size_t>(places) +
                 static_cast<std::size_t>(mask[i]));
  return to;
}

}  // namespace cortado::oracle
