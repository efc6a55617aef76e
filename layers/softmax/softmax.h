#pragma once
#include "core/net/layer.h"
#include "layers/softmax/kernel.h"

namespace cortado {

/// Caffe's Softmax over axis softmax_param.axis.
class SoftmaxLayer : public Layer {
 public:
  using Layer::Layer;
  bool can_run_in_place() const override { return true; }
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  SoftmaxKernel kernel_;
};

}  // namespace cortado
