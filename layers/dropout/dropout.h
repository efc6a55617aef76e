#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Caffe's Dropout: in training each value is zeroed with probability dropout_ratio and scaled by 1 / (1 - ratio) else;
/// in testing values pass. The mask of a sample depends on its number among all samples since training began, not on
/// the rank that has it: n ranks with batch b / n drop what one rank with batch b drops. Nothing is stored. May run in
/// place.
class DropoutLayer : public Layer {
 public:
  using Layer::Layer;
  static bool keeps_bf16(const caffe::LayerParameter& /*parameter*/) { return true; }
  bool can_run_in_place() const override { return true; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  template <class T>
  void apply(const T* from, T* to, const Blob& shape);
};

}  // namespace cortado
