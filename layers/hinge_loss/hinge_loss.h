#pragma once
#include "layers/loss/loss.h"

namespace cortado {

/// Caffe's HingeLoss, one against all: the sum over classes of max(0, 1 + score), 1 - score for the label's class, or
/// of their squares with norm L2; divided by the batch.
class HingeLossLayer : public LossLayer {
 public:
  using LossLayer::LossLayer;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  i64 samples_ = 1;
};

}  // namespace cortado
