#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Normalize of SSD's fork: y = scale x / sqrt(eps + the sum of x^2). The sum is over a sample's channels at each
/// position, or over all of a sample with `across_spatial`. `scale` is learned, one for all or one for each channel; it
/// begins with 1 unless scale_filler says otherwise. The bottom is N x C x ...
class NormalizeLayer : public Layer {
 public:
  using Layer::Layer;
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  bool is_shared() const { return blobs()[0]->axes() == 0; }
  /// The learned scale as rows need it, a value for each column: it lies in `room` where it must be spread.
  const float* column_scale(float* room) const;
  void rows_backward(const float* x, const float* dy, float* dx);
  void positions_backward(const float* x, const float* dy, float* dx);
  void add_scale_gradient(const float* x, const float* dy);

  bool by_rows_ = false;  // a sum is over all of a sample, which is a row
  i64 samples_ = 0, channels_ = 0, inner_ = 0;
  std::unique_ptr<Blob> inverse_;  // of the norm, one for each sum
  std::unique_ptr<Blob> terms_;    // of the gradient of a scale, one for each channel, or column of a row
};

}  // namespace cortado
