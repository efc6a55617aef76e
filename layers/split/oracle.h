#pragma once
#include <vector>

namespace cortado::oracle {

inline std::vector<float> split_backward(const std::vector<std::vector<float>>& top_diffs) {
  std::vector<float> sum = top_diffs[0];
  for (std::size_t t = 1; t < top_diffs.size(); ++t)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += top_diffs[t][i];
  return sum;
}

}  // namespace cortado::oracle
