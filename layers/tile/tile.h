#pragma once
#include "core/net/layer.h"
#include "layers/tile/programs.h"

namespace cortado {

/// Caffe's Tile: the bottom `tiles` times one after another along `axis`.
class TileLayer : public Layer {
 public:
  using Layer::Layer;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  TiledRows rows_{};
};

}  // namespace cortado
