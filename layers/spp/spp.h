#pragma once
#include "layers/pooling/pooling.h"

namespace cortado {

/// Caffe's SPP (He et al., spatial pyramid pooling). For each level l below pyramid_height the N x C x H x W bottom is
/// pooled to 2^l x 2^l. All results stand one after another (N x values), so the top's size does not depend on H and W.
/// The top of a single level is Pooling's, N x C x 1 x 1.
class SppLayer : public Layer {
 public:
  using Layer::Layer;
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  struct Level {
    std::unique_ptr<PoolingLayer> pooling;
    std::unique_ptr<Blob> pooled;
  };
  void make_levels(const Blob& bottom);

  Shape levels_made_for_;
  std::vector<Level> levels_;
  std::unique_ptr<Blob> part_;  // the bottom's gradient from one level
};

}  // namespace cortado
