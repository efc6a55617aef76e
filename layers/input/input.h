#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Caffe's Input: tops of given shapes (one shape for all or one for each), which the caller fills.
class InputLayer : public Layer {
 public:
  using Layer::Layer;
  static void divide_batch(caffe::LayerParameter& parameter, const BatchShare& share);
  Arity bottoms() const override { return {0, 0}; }
  Arity tops() const override { return {1, -1}; }
  bool allows_backward_to(std::size_t) const override { return false; }
  bool is_filled_by_caller() const override { return true; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  /// Does nothing, because the caller may have given the tops other shapes.
  void reshape(const Blobs&, const Blobs&) override {}
  void forward(const Blobs&, const Blobs&) override {}
  void backward(const Blobs&, const std::vector<bool>&, const Blobs&) override {}
};

}  // namespace cortado
