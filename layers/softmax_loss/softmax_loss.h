#pragma once
#include "layers/loss/loss.h"
#include "layers/softmax/kernel.h"

namespace cortado {

/// Caffe's SoftmaxWithLoss. Bottoms are scores (classes along softmax_param.axis) and labels (one per position). The
/// top is the mean of -log softmax(scores)[label]; an optional second top is the softmax. loss_param says which label
/// is ignored and the divisor of the mean (VALID labels, FULL positions, BATCH_SIZE, NONE). LossLayer::divisor tells
/// its meaning with several ranks.
class SoftmaxLossLayer : public LossLayer {
 public:
  using LossLayer::LossLayer;
  Arity tops() const override { return {1, 2}; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  SoftmaxKernel kernel_;
  std::unique_ptr<Blob> probability_;
  float normaliser_ = 1;  // of the last forward
};

}  // namespace cortado
