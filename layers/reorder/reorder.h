#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Connects two layouts. The top is the bottom, which lies in blocks of channels (nchw16c), in nchw. The bottom gets
/// the top's gradient in blocks. The pass `layouts` inserts these (Layer::keeps_blocks).
class ReorderLayer : public Layer {
 public:
  using Layer::Layer;
  static constexpr Role role = Role::reorder;
  static bool keeps_bf16(const caffe::LayerParameter& /*parameter*/) { return true; }
  bool keeps_blocks(const Blobs& /*bottom*/) const override { return true; }
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;
};

}  // namespace cortado
