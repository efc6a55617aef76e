#pragma once
#include "layers/loss/loss.h"

namespace cortado {

/// Caffe's MultinomialLogisticLoss: the mean over samples of -log of the label's probability; the first bottom holds
/// probabilities (a softmax's), of which none is taken to be below 1e-20.
class MultinomialLogisticLossLayer : public LossLayer {
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
