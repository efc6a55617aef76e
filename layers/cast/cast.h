#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Connects two precisions. The top holds the bottom's values in the precision of the layer's parameter, and the bottom
/// gets the top's gradient in its own. The pass `casts` inserts these.
class CastLayer : public Layer {
 public:
  using Layer::Layer;
  static constexpr Role role = Role::cast;
  bool keeps_blocks(const Blobs& /*bottom*/) const override { return true; }
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;
};

}  // namespace cortado
