#pragma once
#include <vector>

#include "core/base/types.h"

namespace cortado {

/// The loss that Caffe displays: the mean of the last `window` iterations (average_loss).
class SmoothedLoss {
 public:
  explicit SmoothedLoss(int window) : window_(static_cast<std::size_t>(window)) {}
  void add(double loss) {
    if (losses_.size() < window_)
      losses_.push_back(loss);
    else
      losses_[next_] = loss;
    next_ = (next_ + 1) % window_;
  }
  double value() const {
    double sum = 0;
    for (const double loss : losses_) sum += loss;
    return losses_.empty() ? 0 : sum / static_cast<double>(losses_.size());
  }

 private:
  std::size_t window_, next_ = 0;
  std::vector<double> losses_;
};

}  // namespace cortado
