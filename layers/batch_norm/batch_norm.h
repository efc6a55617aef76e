#pragma once
#include "core/net/layer.h"
#include "layers/channels/channels.h"

namespace cortado {

struct SumPlaces;
struct ChannelParts;
enum class NormalisePass;

/// Caffe's BatchNorm: y = (x - mean) / sqrt(variance + eps) per channel (axis 1).
///
/// In training mean and variance are the batch's. The three blobs keep running sums of means, of variances (times m /
/// (m - 1)), and of the weights that divide both. In testing, or with use_global_stats, mean and variance are the
/// running ones. Statistics are this rank's, or all ranks' with batch_norm_param.synchronised. It may run in place. It
/// accepts an affine map, a sum with another blob, and a rectifier: one pass over memory instead of four.
class BatchNormLayer : public Layer {
 public:
  using Layer::Layer;
  static bool keeps_bf16(const caffe::LayerParameter& /*parameter*/) { return true; }
  bool can_run_in_place() const override { return true; }
  bool keeps_blocks(const Blobs& /*bottom*/) const override { return true; }
  bool is_statistic(std::size_t) const override { return true; }
  bool lacks_statistics() const override;
  void settle_stored(caffe::LayerParameter& stored, caffe::LayerParameter& behind) const override;
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Blob* kept_bottom(const Blobs& bottom, const Blobs& top) override {
    return keeps(bottom, top) ? kept_.get() : nullptr;
  }
  Traits traits() override;
  bool accept(const Epilogue& work) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  bool global() const;
  bool synchronised() const;
  /// True if backward needs the bottom that an in-place run would overwrite.
  bool keeps(const Blobs& bottom, const Blobs& top) const;
  void move_top(Blob& top);
  double values() const { return static_cast<double>(shape_.count()) / static_cast<double>(shape_.channels); }
  const float* scale() const;
  const float* bias() const;
  /// Sums of pieces that go to two arrays with one value per channel.
  SumPlaces places(float* first, float* second);
  template <i64 block>
  ChannelParts parts_of(const ChannelLines<block>& lines, NormalisePass pass, i64 width);
  template <class Program>
  void launch_passes(Program& program, const Plan& plan);
  template <class T>
  void run_forward(const T* x, const T* added, T* y, NormalisePass pass, double values);
  template <class T>
  void run_backward(const T* x, const T* dy, T* dx, NormalisePass pass, double share);
  double share_statistics();
  double share_sums();
  void running_statistics();
  epilogue::FixedMap::Values fixed_map();

  Channels shape_;
  std::unique_ptr<Blob> kept_, mean_, variance_, sums_;
  std::unique_ptr<Blob> parts_, identity_;  // sums of pieces; scales of one and biases of zero
  std::unique_ptr<Blob> channel_parts_;     // values of parts of channels, on devices
  std::optional<AffineMap> affine_;         // accepted, if any
  ChannelSums sums_of_maker_;               // sums over the bottom
  std::unique_ptr<Blob> map_;               // scales and biases of the fixed map
  i64 map_version_ = 0;                     // RunState::parameter_version when it was made; 0 means that it is not
  bool adds_ = false;                       // it adds a second bottom
  bool is_joined_ = false;                  // that bottom has its gradient when backward begins
  bool rectifies_ = false;
  Rectify rectify_;
};

}  // namespace cortado
