#pragma once
#include <vector>

#include "core/base/types.h"

namespace cortado::oracle {

/// Arrays i of outer x widths[i], side by side. Backward cuts what forward joins.
struct Concat {
  i64 outer;
  std::vector<i64> widths;

  std::vector<float> join(const std::vector<std::vector<float>>& parts) const {
    std::vector<float> whole;
    for (i64 o = 0; o < outer; ++o)
      for (std::size_t i = 0; i < parts.size(); ++i)
        for (i64 e = 0; e < widths[i]; ++e) whole.push_back(parts[i][static_cast<std::size_t>(o * widths[i] + e)]);
    return whole;
  }
  std::vector<std::vector<float>> cut(const std::vector<float>& whole) const {
    std::vector<std::vector<float>> parts(widths.size());
    std::size_t at = 0;
    for (i64 o = 0; o < outer; ++o)
      for (std::size_t i = 0; i < widths.size(); ++i)
        for (i64 e = 0; e < widths[i]; ++e) parts[i].push_back(whole[at++]);
    return parts;
  }
};

}  // namespace cortado::oracle
