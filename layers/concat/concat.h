#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Caffe's Concat: bottoms one after another along `axis` (or the older concat_dim); other dimensions must be equal.
class ConcatLayer : public Layer {
 public:
  using Layer::Layer;
  static bool keeps_bf16(const caffe::LayerParameter& /*parameter*/) { return true; }
  Arity bottoms() const override { return {1, -1}; }
  bool keeps_blocks(const Blobs& bottom) const override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  int axis_ = 1;
};

}  // namespace cortado
