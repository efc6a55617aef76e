#pragma once
#include "layers/channels/factor_layer.h"

namespace cortado {

/// Caffe's Bias: y = x plus a bias whose shape is num_axes of the bottom's axes from `axis` on, repeated over the
/// others. The bias is learned, or is the second bottom. It may run in place.
class BiasLayer : public FactorLayer {
 public:
  using FactorLayer::FactorLayer;
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 protected:
  bool learns_per_channel() const override;

 private:
  Channels shape_;
};

}  // namespace cortado
