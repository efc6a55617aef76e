#pragma once
#include "core/net/layer.h"
#include "layers/channels/channels.h"
#include "layers/scale/scale.h"

namespace cortado {

/// Caffe's BatchNorm: y = (x - mean) / sqrt(variance + eps) per channel (axis 1). In training mean and variance are the
/// batch's, and the three blobs keep running sums: of means, of variances (times m / (m - 1)), and of the weights that
/// both are to be divided by. In testing, or with use_global_stats, they are the running ones. Statistics are this
/// rank's unless batch_norm_param.synchronised asks for those of all ranks. May run in place. Takes over a Scale per
/// channel, a sum with another blob, and a ReLU that follow: one pass instead of four.
class BatchNormLayer : public Layer {
 public:
  using Layer::Layer;
  static bool keeps_bf16(const caffe::LayerParameter& /*parameter*/) { return true; }
  bool can_run_in_place() const override { return true; }
  bool keeps_blocks(const Blobs& /*bottom*/) const override { return true; }
  bool is_statistic(std::size_t) const override { return true; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  bool absorb(Layer& next, bool asked_back) override;
  bool absorb_sum(Layer& next) override;
  bool takes_gradients(std::size_t count) override;
  bool lets_join(Layer& reader, Blob& other) override;
  /// Whether forward takes the batch's own statistics.
  bool measures() const { return !global(); }
  /// For the next forward, whose bottom must lie in blocks: `parts` pairs of sums, over the bottom's values and over
  /// their squares, [part][2][channels], from whoever made the bottom; they need not be taken again then.
  void take_sums(const float* sums, i64 parts) { sums_of_maker_ = sums, sum_parts_ = parts; }
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  bool global() const;
  bool synchronised() const;
  /// Whether backward needs the bottom that an in-place run would overwrite.
  bool keeps(const Blobs& bottom, const Blobs& top) const;
  void move_top(Blob& top);
  double values() const { return static_cast<double>(shape_.count()) / static_cast<double>(shape_.channels); }
  const float* scale() const;
  const float* bias() const;
  template <class T>
  void run_forward(const T* x, const T* added, T* y, bool measures, bool applies, double values);
  template <class Program, class T>
  void launch_forward(Program p, i64 line, i64 channels, const T* x, const T* added, T* y, bool measures, bool applies,
                      double values);
  template <class Program, class T>
  void launch_backward(Program p, i64 line, i64 channels, const T* x, const T* dy, T* dx, bool measures, bool applies,
                       double share);
  template <class T>
  void run_backward(const T* x, const T* dy, T* dx, bool measures, bool applies, double share);
  double share_statistics();
  double share_sums();
  void running_statistics();

  Channels shape_;
  std::unique_ptr<Blob> kept_, mean_, variance_, sums_;
  std::unique_ptr<Blob> parts_, identity_;  // sums of pieces; scales of one and biases of zero
  ScaleLayer* scale_ = nullptr;             // absorbed, if any
  const float* sums_of_maker_ = nullptr;    // take_sums
  i64 sum_parts_ = 0;
  bool adds_ = false;       // a second bottom, as an absorbed Eltwise does
  bool is_joined_ = false;  // that bottom's gradient, when backward begins (lets_join)
  bool rectifies_ = false;  // as an absorbed ReLU does
  float slope_ = 1;
};

}  // namespace cortado
