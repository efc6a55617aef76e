#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Caffe's Dropout. In training each value is zeroed with probability dropout_ratio, else scaled by 1 / (1 - ratio); in
/// testing values pass. A sample's mask depends on its number among all samples since training began, not on its rank.
/// So n ranks with batch b / n drop the same as one rank with batch b. No mask is stored. It may run in place.
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
  void apply(const T* x, T* y, const Blob& shape);
};

}  // namespace cortado
