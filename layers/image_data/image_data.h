#pragma once
#include "layers/data/batch_layer.h"

namespace cortado {

/// Caffe's ImageData: images (top 0) and labels (top 1) of a text that lists JPEG and PNG files, `root_folder` before
/// each. Images are resized to new_height x new_width by bilinear interpolation, in colour (blue, green, red) or grey,
/// then transformed.
class ImageDataLayer : public BatchLayer {
 public:
  using BatchLayer::BatchLayer;
  static void divide_batch(caffe::LayerParameter& parameter, const BatchShare& share);
  Arity tops() const override { return {1, 2}; }

 protected:
  BatchRequest request() const override;
};

}  // namespace cortado
