#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Caffe's Parameter: a learnable blob of a given shape, as a top. It begins with zeros, unless weights are loaded.
class ParameterLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {0, 0}; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
};

}  // namespace cortado
