#pragma once
#include "core/net/layer.h"
#include "layers/crop/programs.h"

namespace cortado {

/// Caffe's Crop: cuts the first bottom's axes from `axis` on to the second bottom's sizes, beginning at the offsets.
/// There may be no offset, which means 0, one for all axes, or one for each.
class CropLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {2, 2}; }
  bool allows_backward_to(std::size_t i) const override { return i == 0; }
  bool uses_shape_only(std::size_t i) const override { return i == 1; }
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  void copy(const float* from, float* to, bool back);
  CropWindow window_{};
};

}  // namespace cortado
