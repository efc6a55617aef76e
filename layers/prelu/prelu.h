#pragma once
#include "core/net/layer.h"
#include "layers/channels/channels.h"

namespace cortado {

/// Caffe's PReLU: y = x for x > 0, a learned slope times x elsewhere. There is one slope per channel (axis 1), or one
/// for all with channel_shared. It may run in place.
class PReluLayer : public Layer {
 public:
  using Layer::Layer;
  bool can_run_in_place() const override { return true; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  Channels shape_;
  std::unique_ptr<Blob> input_;  // of a run in place
};

}  // namespace cortado
