#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Caffe's DummyData: tops of given shapes from fillers. Shapes are `shape`, or the older num, channels, height, width;
/// one for all tops or one for each. Fillers are one for all or one for each; none means zeros. Constants are filled
/// once. Random tops are drawn anew each pass, differently on each rank.
class DummyDataLayer : public Layer {
 public:
  using Layer::Layer;
  static void divide_batch(caffe::LayerParameter& parameter, const BatchShare& share);
  Arity bottoms() const override { return {0, 0}; }
  Arity tops() const override { return {1, -1}; }
  bool allows_backward_to(std::size_t) const override { return false; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs&, const Blobs&) override {}
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs&, const std::vector<bool>&, const Blobs&) override {}

 private:
  Shape shape_of_top(std::size_t i, std::size_t tops) const;
  const caffe::FillerParameter& filler_of(std::size_t i) const;
};

}  // namespace cortado
