#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Caffe's Slice: cuts the bottom along `axis` (or the older slice_dim) at the slice_points, or into equal parts, one
/// for each top.
class SliceLayer : public Layer {
 public:
  using Layer::Layer;
  static bool keeps_bf16(const caffe::LayerParameter& /*parameter*/) { return true; }
  Arity tops() const override { return {1, -1}; }
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  std::vector<i64> widths(i64 extent, std::size_t parts) const;
  int axis_ = 1;
};

}  // namespace cortado
