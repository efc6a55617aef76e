#pragma once
#include <vector>

namespace cortado::oracle {

inline std::vector<float> relu_forward(const std::vector<float>& x, float slope) {
  std::vector<float> y;
  for (const float v : x) y.push_back(v > 0 ? v : slope * v);
  return y;
}

inline std::vector<float> relu_backward(const std::vector<float>& x, const std::vector<float>& dy, float slope) {
  std::vector<float> dx;
  for (std::size_t i = 0; i < x.size(); ++i) dx.push_back(x[i] > 0 ? dy[i] : slope * dy[i]);
  return dx;
}

}  // namespace cortado::oracle
