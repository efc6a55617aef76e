#pragma once
#include "layers/channels/factor_layer.h"

namespace cortado {

/// Caffe's Scale: y = x times a scale, plus a bias of the same shape with bias_term. The scale's shape is num_axes of
/// the bottom's axes from `axis` on, repeated over the others. The scale is learned, or is the second bottom. It may
/// run in place.
class ScaleLayer : public FactorLayer {
 public:
  using FactorLayer::FactorLayer;
  /// True for a learned scale, not for a second bottom.
  static bool keeps_bf16(const caffe::LayerParameter& parameter);
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;
  /// Has an affine map where the scale is learned and per channel.
  Traits traits() override;

 protected:
  bool learns_per_channel() const override;

 private:
  template <class T>
  void run_forward(const Blobs& bottom, const Blobs& top);
  template <class T>
  void run_backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom);

  Channels shape_;
  std::unique_ptr<Blob> input_, unused_;  // the input of an in-place run; sums that nobody asked for
};

}  // namespace cortado
