#pragma once
#include "core/net/layer.h"
#include "layers/channels/channels.h"

namespace cortado {

/// Caffe's BatchNorm: y = (x - mean) / sqrt(variance + eps) per channel (axis 1). In training mean and variance are the
/// batch's, and the three blobs keep running sums: of means, of variances (times m / (m - 1)), and of the weights that
/// both are to be divided by. In testing, or with use_global_stats, they are the running ones. Statistics are this
/// rank's unless batch_norm_param.synchronised asks for those of all ranks. May run in place.
class BatchNormLayer : public Layer {
 public:
  using Layer::Layer;
  bool can_run_in_place() const override { return true; }
  bool is_statistic(std::size_t) const override { return true; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  bool global() const;
  bool synchronised() const;
  /// Mean, inverse deviation and the running sums from this batch.
  void batch_statistics(const float* x);
  double share_statistics();
  double share_sums();
  void running_statistics();

  Channels shape_;
  std::unique_ptr<Blob> normalised_, mean_, variance_, inverse_, sums_;
};

}  // namespace cortado
