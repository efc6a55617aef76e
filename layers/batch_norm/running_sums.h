#pragma once

namespace cortado {

/// The running sums of a batch normalisation. Each becomes `fraction` of itself plus the batch's (Caffe's
/// moving_average_fraction). Variances count times `unbias`, m / (m - 1); the weight's new value is 1.
struct RunningSums {
  float *mean, *variance, *weight;
  float fraction, unbias;
};

}  // namespace cortado
