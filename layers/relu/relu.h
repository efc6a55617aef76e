#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Caffe's ReLU: y = x for x > 0, negative_slope x elsewhere. It may run in place.
class ReluLayer : public Layer {
 public:
  using Layer::Layer;
  static bool keeps_bf16(const caffe::LayerParameter& /*parameter*/) { return true; }
  bool can_run_in_place() const override { return true; }
  bool keeps_blocks(const Blobs& /*bottom*/) const override { return true; }
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;
  Traits traits() override;

 private:
  /// The factor of values below zero.
  float slope() const;
};

}  // namespace cortado
