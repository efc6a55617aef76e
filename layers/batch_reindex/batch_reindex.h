#pragma once
#include "core/net/layer.h"
#include "layers/rows/rows.h"

namespace cortado {

/// Caffe's BatchReindex: value i of the second bottom names the sample of the first bottom that becomes sample i of the
/// top. Samples may appear several times or not at all. Throws ConfigError for numbers of no sample.
class BatchReindexLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {2, 2}; }
  bool allows_backward_to(std::size_t i) const override { return i == 0; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  std::unique_ptr<RowPicker> picker_;
};

}  // namespace cortado
