#pragma once
#include "core/net/layer.h"

namespace cortado {

/// The common part of Reshape and Flatten: the top has the bottom's values in another shape. Values are copied, so
/// layers that work in place on the top leave the bottom alone.
class ReshapingLayer : public Layer {
 public:
  using Layer::Layer;
  static bool keeps_bf16(const caffe::LayerParameter& /*parameter*/) { return true; }
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 protected:
  virtual Shape shape_of_top(const Blob& bottom) const = 0;
};

/// Caffe's Reshape: num_axes of the bottom's axes from `axis` on (all, by default) become the dimensions of `shape`. A
/// negative axis counts from behind the last. In `shape`, 0 stands for the bottom's dimension and -1, once, for the
/// rest.
class ReshapeLayer : public ReshapingLayer {
 public:
  using ReshapingLayer::ReshapingLayer;

 protected:
  Shape shape_of_top(const Blob& bottom) const override;
};

/// Caffe's Flatten: the axes from `axis` to `end_axis` become one.
class FlattenLayer : public ReshapingLayer {
 public:
  using ReshapingLayer::ReshapingLayer;

 protected:
  Shape shape_of_top(const Blob& bottom) const override;
};

}  // namespace cortado
