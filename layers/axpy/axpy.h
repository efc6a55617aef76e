#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Axpy of SENet's fork: y = a x + b. The first bottom, a, has a factor for each channel of each sample (N x C, with or
/// without axes of size 1 behind); the second, x, and the third, b, are N x C x ... alike. All three have a gradient.
class AxpyLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {3, 3}; }
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  i64 rows_ = 0, width_ = 0;  // channels of all samples, and the values of each
};

}  // namespace cortado
