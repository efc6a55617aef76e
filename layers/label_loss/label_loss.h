#pragma once
#include "layers/loss/loss.h"

namespace cortado {

/// A loss of scores (N x anything) with a label for each sample: the sum of a term over scores, divided by the batch.
/// The term depends on the score and on whether it is the label's. `Terms::with(layer's parameter, use)` calls `use`
/// with the term (layers/loss/functions.h).
template <class Terms>
class LabelLossLayer : public LossLayer {
 public:
  using LossLayer::LossLayer;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  i64 samples_ = 1;
};

/// Caffe's HingeLoss, one against all: max(0, 1 + score), 1 - score for the label's class, or their squares with norm
/// L2.
struct HingeTerms;
/// Caffe's MultinomialLogisticLoss: -log of the label's probability. The first bottom holds probabilities (a
/// softmax's); those below 1e-20 count as 1e-20.
struct LogarithmTerms;

}  // namespace cortado
