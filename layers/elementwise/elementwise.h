#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Caffe's layers that apply a function of one value to every element. They may run in place; if the gradient needs the
/// input, they then keep a copy. `Functions::with(layer's parameter, use)` calls `use` with the function (functions.h),
/// and throws ConfigError for impossible parameters.
template <class Functions>
class ElementwiseLayer : public Layer {
 public:
  using Layer::Layer;
  bool can_run_in_place() const override { return true; }
  bool keeps_blocks(const Blobs& /*bottom*/) const override { return true; }
  bool allows_backward_to(std::size_t i) const override;
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  std::unique_ptr<Blob> input_;  // of a run in place, where the gradient needs it
};

/// |x|.
struct AbsValFunctions;
/// log(1 + e^x).
struct BnllFunctions;
/// x cut to [min, max].
struct ClipFunctions;
/// x above 0, alpha (e^x - 1) below.
struct EluFunctions;
/// base^(scale x + shift); base -1 means e.
struct ExpFunctions;
/// log_base(scale x + shift); base -1 means e.
struct LogFunctions;
/// (scale x + shift)^power.
struct PowerFunctions;
/// x cut to [0, 6].
struct Relu6Functions;
/// 1 / (1 + e^-x).
struct SigmoidFunctions;
/// x / (1 + e^(-beta x)).
struct SwishFunctions;
/// Hyperbolic tangent.
struct TanhFunctions;
/// 1 above the threshold, 0 elsewhere; has no gradient.
struct ThresholdFunctions;

}  // namespace cortado
