#pragma once

namespace cortado {

/// Running sums of a batch normalisation: each becomes `fraction` of itself plus the batch's (Caffe's
/// moving_average_fraction; variances times `unbias`, m / (m - 1); the weight's new is 1).
struct RunningSums {
  float *mean, *variance, *weight;
  float fraction, unbias;
};

}  // namespace cortado
