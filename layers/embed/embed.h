#pragma once
#include "core/net/layer.h"
#include "layers/rows/rows.h"

namespace cortado {

/// Caffe's Embed. Every value of the bottom is a number in [0, input_dim) and picks that row of the weights (input_dim
/// x num_output). A bias is added. The top has the bottom's shape with num_output behind. Throws ConfigError for other
/// numbers.
class EmbedLayer : public Layer {
 public:
  using Layer::Layer;
  bool allows_backward_to(std::size_t /*i*/) const override { return false; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  i64 width() const;
  std::unique_ptr<RowPicker> picker_;
};

}  // namespace cortado
