#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Caffe's ArgMax: the places of the top_k largest values along `axis`, largest first; of equal values the later place
/// first, as Caffe sorts. With out_max_val, along an axis, it gives the values instead. Without an axis each sample is
/// one row and the top is N x 1 x top_k. With out_max_val it is then N x 2 x top_k: places, then values. It has no
/// gradient, and works on the management side.
class ArgMaxLayer : public Layer {
 public:
  using Layer::Layer;
  bool allows_backward_to(std::size_t /*i*/) const override { return false; }
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs&, const std::vector<bool>&, const Blobs&) override {}

 private:
  i64 outer_ = 1, classes_ = 1, inner_ = 1;
};

}  // namespace cortado
