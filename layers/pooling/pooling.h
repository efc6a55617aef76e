#pragma once
#include "core/net/layer.h"
#include "layers/pooling/plan.h"

namespace cortado {

/// Largest or average value of a sliding window over each plane of an N x C x H x W bottom (Caffe's Pooling: output
/// size rounded up unless round_mode says FLOOR, a last window that would start in the padding is dropped, averages
/// count padding). With MAX, a second top gets the index in its plane of each maximum. Throws ConfigError for windows
/// that cannot be and for STOCHASTIC, ShapeError for bottoms without four axes or smaller than the window.
class PoolingLayer : public Layer {
 public:
  using Layer::Layer;
  Arity tops() const override;
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  void check_window() const;
  int output_size(int extent, int kernel, int stride, int pad) const;
  bool takes_max() const;
  /// Whether one window holds each plane.
  bool is_whole() const;
  void max_forward(const float* x, const Blobs& top);
  void write_mask(Blob& top);

  bool global_ = false, round_up_ = true;
  PoolShape shape_;
  ClusterMemory mask_;  ///< int per output: index of the maximum in its plane
};

}  // namespace cortado
