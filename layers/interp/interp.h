#pragma once
#include "core/net/layer.h"
#include "layers/interp/programs.h"

namespace cortado {

/// Interp of DeepLab's and PSPNet's forks: stretches the planes of N x C x H x W by bilinear interpolation, corners
/// upon corners. pad_beg and pad_end, which are not above 0, first cut rows and columns off. The sizes are shrunk by
/// shrink_factor (the first of so many points each), then stretched by zoom_factor (so many steps for one), or are
/// height and width, or those of a second bottom, whose values do not matter.
class InterpLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {1, 2}; }
  bool allows_backward_to(std::size_t i) const override { return i == 0; }
  bool uses_shape_only(std::size_t i) const override { return i == 1; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  /// The top's extent along an axis, for so many points of the bottom, where `given` is height or width.
  i64 extent(i64 in, i64 given) const;

  StretchedPlanes planes_{};
};

}  // namespace cortado
