#pragma once
#include "layers/loss/loss.h"

namespace cortado {

/// Caffe's EuclideanLoss: the sum of (a - b)^2 over all elements, divided by twice the batch. Both bottoms may have a
/// gradient.
class EuclideanLossLayer : public LossLayer {
 public:
  using LossLayer::LossLayer;
  bool allows_backward_to(std::size_t /*i*/) const override { return true; }
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  float samples_ = 1;
};

}  // namespace cortado
