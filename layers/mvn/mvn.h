#pragma once
#include "core/net/layer.h"
#include "layers/mvn/programs.h"

namespace cortado {

/// Caffe's MVN: every plane (every sample, with across_channels) gets mean 0 and, with normalize_variance, deviation 1:
/// y = (x - mean) / (deviation + eps). It may run in place.
class MvnLayer : public Layer {
 public:
  using Layer::Layer;
  bool can_run_in_place() const override { return true; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  RowLines rows_{};
  std::unique_ptr<Blob> deviation_;  // of each row
};

}  // namespace cortado
