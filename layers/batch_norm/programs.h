#pragma once
#include "core/machine/elementwise.h"
#include "layers/batch_norm/forward_program.h"
#include "layers/batch_norm/gradient_program.h"

namespace cortado {

/// Mean and variance from the running sums, which are to be divided by `weight` (0: they are 0).
struct UseRunningStatistics {
  static constexpr const char* label = "batch_norm_running_statistics";
  template <class V>
  CORTADO_FN auto operator()(V mean, V variance, float weight) const {
    const float share = math::select(weight == 0.0f, 0.0f, 1.0f / math::select(weight == 0.0f, 1.0f, weight));
    return Two<decltype(mean * share)>{mean * share, variance * share};
  }
};

/// The running statistics and an affine map behind them as one map: y = (x - mean) / sqrt(variance + eps) scale + bias.
struct MapOfStatistics {
  static constexpr const char* label = "batch_norm_map";
  float eps;
  template <class V>
  CORTADO_FN auto operator()(V mean, V variance, V scale, V bias, float weight) const {
    const auto running = UseRunningStatistics{}(mean, variance, weight);
    const auto factor = scale / math::sqrt(running.second + eps);
    return Two<decltype(factor * factor)>{factor, bias - running.first * factor};
  }
};

}  // namespace cortado
