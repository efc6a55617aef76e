#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Caffe's Reduction: the axes from `axis` on become one value, coeff times their sum, mean, sum of absolute values or
/// sum of squares.
class ReductionLayer : public Layer {
 public:
  using Layer::Layer;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  float factor() const;
  i64 rows_ = 1, width_ = 1;
};

}  // namespace cortado
