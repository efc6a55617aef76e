#pragma once
#include "layers/data/batch_layer.h"

namespace cortado {

/// Caffe's WindowData, for R-CNN: windows (top 0) and their classes (top 1), drawn at random from a text that lists
/// them with their images.
///
/// The last floor(batch_size fg_fraction) samples of a batch are foreground: windows that overlap an object by
/// fg_threshold or more, with its class. The others are background, below bg_threshold, of class 0. Each is warped to
/// crop_size x crop_size, with context_pad pixels around it. `crop_mode: "square"` makes it square first. The sample is
/// 0 where it reaches beyond the image, as behind the mean.
///
/// A draw depends on the seed and on the number of draws before. So ranks with equal batches together draw the same as
/// one rank with their whole batch.
class WindowDataLayer : public BatchLayer {
 public:
  using BatchLayer::BatchLayer;
  static void divide_batch(caffe::LayerParameter& parameter, const BatchShare& share);
  Arity tops() const override { return {2, 2}; }

 protected:
  BatchRequest request() const override;
};

}  // namespace cortado
