#pragma once
#include "core/net/layer.h"
#include "layers/convolution/columns/columns.h"
#include "layers/convolution/volume.h"

namespace cortado {

/// Caffe's Im2col: the values under a convolution's window, as N x (C KH KW) x OH x OW, over any number of spatial
/// axes.
class Im2colLayer : public Layer {
 public:
  using Layer::Layer;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  Planned<Im2col> to_columns_;
  Planned<Col2im> from_columns_;
  std::unique_ptr<Volume> volume_;           // where there are more than two spatial axes
  std::unique_ptr<Blob> stacked_, columns_;  // planes in, columns out, and their gradients, image by image
};

}  // namespace cortado
