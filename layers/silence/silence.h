#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Caffe's Silence: takes bottoms without use, so that they are no outputs of the net. Their gradients are 0.
class SilenceLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {1, -1}; }
  Arity tops() const override { return {0, 0}; }
  void reshape(const Blobs&, const Blobs&) override {}
  void forward(const Blobs&, const Blobs&) override {}
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
};

}  // namespace cortado
