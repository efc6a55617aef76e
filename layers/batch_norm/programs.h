#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// What a batch's mean and variance per channel turn into: the running sums, each f old + new with f the
/// moving_average_fraction (variances times `unbias`, m / (m - 1); weight's new is 1), and 1 / sqrt(variance + eps).
/// Lines are blocks of channels.
struct TakeBatchStatistics {
  static constexpr const char* label = "batch_norm_statistics";
  const float *mean, *variance;
  float *running_mean, *running_variance, *weight, *inverse;
  float fraction, unbias, eps;
  i64 channels, block;
  Buf mean_buf, variance_buf, running_mean_buf, running_variance_buf, weight_buf, inverse_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const TakeBatchStatistics p = *this;
    c.lines((p.channels + p.block - 1) / p.block, Depth::one,
            [&](i64 i) {
              const i64 at = i * p.block, n = math::min(p.block, p.channels - at);
              return both(c.get(p.mean_buf, p.mean + at, n), c.get(p.variance_buf, p.variance + at, n));
            },
            [&](i64 i, auto& in) {
              const float fraction = p.fraction, unbias = p.unbias, eps = p.eps;
              const auto mean = in.first, variance = in.second;
              auto means = c.update(p.running_mean_buf, p.running_mean + i * p.block, mean.n);
              auto variances = c.update(p.running_variance_buf, p.running_variance + i * p.block, mean.n);
              auto inverse = c.out(p.inverse_buf, p.inverse + i * p.block, mean.n);
              c.each(mean.n, [&](i64 k) {
                means.set(k, mean[k] + fraction * means.at(k));
                variances.set(k, unbias * variance[k] + fraction * variances.at(k));
                inverse.set(k, 1.0f / math::sqrt(variance[k] + eps));
              });
              c.put(means);
              c.put(variances);
              c.put(inverse);
              if (i > 0) return;
              auto weight = c.update(p.weight_buf, p.weight, 1);
              c.once([&] { weight.set(0, 1.0f + fraction * weight.at(0)); });
              c.put(weight);
            });
  }
};

/// Mean and 1 / sqrt(variance + eps) from the running sums, which are to be divided by `weight` (0: they are 0).
struct UseRunningStatistics {
  static constexpr const char* label = "batch_norm_running_statistics";
  const float *running_mean, *running_variance, *weight;
  float *mean, *inverse;
  float eps;
  i64 channels, block;
  Buf running_mean_buf, running_variance_buf, weight_buf, mean_buf, inverse_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const UseRunningStatistics p = *this;
    c.lines((p.channels + p.block - 1) / p.block, Depth::one,
            [&](i64 i) {
              const i64 at = i * p.block, n = math::min(p.block, p.channels - at);
              return both(c.get(p.weight_buf, p.weight, 1),
                          both(c.get(p.running_mean_buf, p.running_mean + at, n),
                               c.get(p.running_variance_buf, p.running_variance + at, n)));
            },
            [&](i64 i, auto& in) {
              const float weight = in.first[0], eps = p.eps;
              const float share = math::select(weight == 0.0f, 0.0f, 1.0f / math::select(weight == 0.0f, 1.0f, weight));
              const auto means = in.second.first, variances = in.second.second;
              auto mean = c.out(p.mean_buf, p.mean + i * p.block, means.n);
              auto inverse = c.out(p.inverse_buf, p.inverse + i * p.block, means.n);
              c.each(means.n, [&](i64 k) {
                mean.set(k, means[k] * share);
                inverse.set(k, 1.0f / math::sqrt(variances[k] * share + eps));
              });
              c.put(mean);
              c.put(inverse);
            });
  }
};

}  // namespace cortado
