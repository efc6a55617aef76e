#pragma once
#include "layers/loss/loss.h"

namespace cortado {

/// Caffe's SigmoidCrossEntropyLoss: -t log s - (1 - t) log(1 - s) for scores x, s = sigmoid(x) and targets t. It is
/// summed over all elements and divided by the batch unless loss_param says otherwise. Targets whose whole part is the
/// ignore_label do not count.
class SigmoidCrossEntropyLossLayer : public LossLayer {
 public:
  using LossLayer::LossLayer;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  float divisor_ = 1;  // of the last forward
};

}  // namespace cortado
