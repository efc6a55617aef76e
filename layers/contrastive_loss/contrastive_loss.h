#pragma once
#include "layers/loss/loss.h"

namespace cortado {

/// Caffe's ContrastiveLoss of pairs of features (N x C each) at distance d; the third bottom (N) says whether they are
/// similar. The loss is d^2 for similar pairs and max(margin - d, 0)^2 for others (max(margin - d^2, 0) with
/// legacy_version), summed and divided by 2 N.
class ContrastiveLossLayer : public LossLayer {
 public:
  using LossLayer::LossLayer;
  Arity bottoms() const override { return {3, 3}; }
  bool allows_backward_to(std::size_t i) const override { return i < 2; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  struct Term {
    double loss, factor;  // the pair's part of the loss; its gradient is `factor` times the difference of features
  };
  Term term(double squared_distance, bool similar) const;

  i64 pairs_ = 1, width_ = 1;
  std::unique_ptr<Blob> factors_;  // squared distances of pairs, then the factors of their gradients
};

}  // namespace cortado
