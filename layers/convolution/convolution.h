#pragma once
#include "core/net/layer.h"
#include "layers/convolution/candidates.h"

namespace cortado {

/// Caffe's Convolution over two spatial axes: every bottom (N x C x H x W) gives a top (N x num_output x OH x OW)
/// through the same weights (num_output x C / group x KH x KW) and bias. OH = (H + 2 pad - (dilation (KH - 1) + 1)) /
/// stride + 1, rounded down. With a bias it takes over a ReLU that follows in place.
class ConvolutionLayer : public Layer {
 public:
  using Layer::Layer;
  static bool keeps_bf16(const caffe::LayerParameter& /*parameter*/) { return true; }
  Arity bottoms() const override { return {1, -1}; }
  Arity tops() const override { return {1, -1}; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  bool absorb(Layer& next) override;
  PlanBook plans() const override;
  std::vector<PlanOption> plan_options() const override;
  void choose_plans(const PlanBook& wanted) override { wanted_ = wanted; }
  std::vector<std::string> refusals() const override { return refusals_; }
  Cost cost(const Blobs& bottom, const Blobs& top) const override;
  /// Of each bottom, since the last reshape.
  const ConvolutionShape& shape() const { return shape_; }

 private:
  ConvolutionShape shape_of(const Blob& bottom) const;
  const ConvolutionCandidate* choose(ConvolutionDirection direction);
  void run(ConvolutionDirection direction, const ConvolutionArguments& arguments);

  ConvolutionShape shape_;  // as the parameter says; sizes of the bottoms since the last reshape
  bool bias_ = true;
  bool rectifies_ = false;  // as an absorbed ReLU does
  float slope_ = 1;
  PlanBook wanted_;
  const ConvolutionCandidate* chosen_[3] = {};
  std::vector<std::string> refusals_;
};

}  // namespace cortado
