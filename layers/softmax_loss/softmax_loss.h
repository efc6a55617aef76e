#pragma once
#include "layers/loss/loss.h"
#include "layers/softmax/kernel.h"

namespace cortado {

/// Caffe's SoftmaxWithLoss: bottoms are scores (classes along softmax_param.axis) and labels (one per position), the
/// top is the mean of -log softmax(scores)[label]; an optional second top is the softmax. loss_param says which label
/// is ignored and what the mean divides by (VALID labels, FULL positions, BATCH_SIZE, NONE); with several ranks VALID
/// means the labels of all ranks, and NONE multiplies by their number, so that the mean over ranks of losses and
/// gradients is that of one rank with all samples.
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
