#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Permute of SSD's fork: the top has the bottom's axes in another order. `order` names the bottom's axes as the top
/// has them; those that it does not name follow in their old order.
class PermuteLayer : public Layer {
 public:
  using Layer::Layer;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  std::vector<int> order_, back_;  // axis d of the top is axis order_[d] of the bottom, which is axis back_[..] of it
};

}  // namespace cortado
