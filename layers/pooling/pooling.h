#pragma once
#include "core/net/choice.h"
#include "layers/pooling/candidates.h"

namespace cortado {

/// Caffe's Pooling of each plane of an N x C x H x W bottom by a sliding window: its largest or average value, or one
/// drawn by lot. Output sizes are rounded up unless round_mode says FLOOR. A last window that would start in the
/// padding is dropped. Averages count padding. A second top gets, with MAX, the index of each maximum in its plane.
/// Throws ConfigError for impossible windows and for gradients of STOCHASTIC in testing. Throws ShapeError for bottoms
/// without four axes or smaller than the window.
class PoolingLayer : public Layer {
 public:
  using Layer::Layer;
  static constexpr Role role = Role::subsampling;
  static PixelStride pixel_stride(const caffe::LayerParameter& parameter);
  static void set_pixel_stride(caffe::LayerParameter& parameter, PixelStride stride);
  /// True without a second top, which would be the mask, and not by lot.
  static bool keeps_bf16(const caffe::LayerParameter& parameter);
  Arity tops() const override;
  /// True where keeps_bf16 is, and rows of sixteen planes fit a scratchpad.
  bool keeps_blocks(const Blobs& bottom) const override;
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  PlanBook plans() const override { return choices_.plans(); }
  std::vector<PlanOption> plan_options() const override { return choices_.options(); }
  void choose_plans(const PlanBook& wanted) override { choices_.want(wanted); }
  std::vector<std::string> refusals() const override { return choices_.refusals(); }
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  void check_window() const;
  /// Gives windows the bottom's planes, and their places in it.
  void place_in(const Blob& bottom, PoolShape& shape) const;
  int output_size(int extent, int kernel, int stride, int pad, bool is_padded) const;
  PoolMethod method() const;
  void choose();

  PoolShape shape_;
  Precision precision_ = Precision::fp32;
  Choices<PoolPlan> choices_{"forward", "backward"};
  ClusterMemory mask_;  ///< an int per output: the index in its plane of the maximum, or of the drawn value
  ClusterMemory sums_;  ///< sums of windows, when drawing
};

}  // namespace cortado
