#pragma once
#include "layers/loss/loss.h"
#include "layers/rows/rows.h"
#include "layers/softmax/kernel.h"

namespace cortado {

/// Caffe's InfogainLoss: SoftmaxWithLoss with -sum over classes of H[label][class] log softmax(scores)[class]. The
/// matrix H (classes x classes) is the third bottom, or comes from infogain_loss_param.source (a BlobProto). An
/// optional second top is the softmax.
class InfogainLossLayer : public LossLayer {
 public:
  using LossLayer::LossLayer;
  Arity bottoms() const override { return {2, 3}; }
  Arity tops() const override { return {1, 2}; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  i64 pick_gains(const Blob& labels, const Blob& matrix);

  SoftmaxKernel kernel_;
  std::unique_ptr<Blob> matrix_;  // H, where it comes from a file
  std::unique_ptr<Blob> probability_, gains_,
      sums_;  // gains: a row of H for each position; sums: of each of these rows
  std::unique_ptr<RowPicker> picker_;
  float divisor_ = 1;  // of the last forward
};

}  // namespace cortado
