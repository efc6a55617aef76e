#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Caffe's Accuracy: the share of positions whose label is among the top_k scores. An optional second top has it per
/// class. Ties count against the label. It has no backward.
class AccuracyLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {2, 2}; }
  Arity tops() const override { return {1, 2}; }
  bool allows_backward_to(std::size_t) const override { return false; }
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;

 private:
  i64 outer_ = 0, classes_ = 0, inner_ = 0;
};

}  // namespace cortado
