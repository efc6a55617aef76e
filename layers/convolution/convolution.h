#pragma once
#include "core/net/choice.h"
#include "layers/channels/channels.h"
#include "layers/convolution/candidates.h"
#include "layers/convolution/volume.h"

namespace cortado {

/// The common part of Convolution and Deconvolution: a window that slides over the axes behind `axis`, and the choice
/// of candidates. `axis` has the channels; axes before it count samples; there may be any number behind it. All work
/// happens on two axes. Fewer get others of extent 1; of more, the leading ones become images and channels (Volume).
class WindowedLayer : public Layer {
 public:
  using Layer::Layer;
  /// False for more than two spatial axes, and for kernels of over 512 positions.
  static bool keeps_bf16(const caffe::LayerParameter& parameter);
  Arity bottoms() const override { return {1, -1}; }
  Arity tops() const override { return {1, -1}; }
  PlanBook plans() const override { return choices_.plans(); }
  std::vector<PlanOption> plan_options() const override { return choices_.options(); }
  void choose_plans(const PlanBook& wanted) override { choices_.want(wanted); }
  std::vector<std::string> refusals() const override { return choices_.refusals(); }
  Cost cost(const Blobs& bottom, const Blobs& top) const override;
  /// The shape of each bottom's convolution, set by the last reshape.
  const ConvolutionShape& shape() const { return shape_; }

 protected:
  /// Reads window_ and the groups of convolution_param and checks them. Throws ConfigError, ShapeError.
  void read_parameter(const Blobs& bottom, const Blobs& top);
  /// The shape of the weights of a convolution from `in` to `out` channels.
  Shape weights(i64 in, i64 out) const;
  /// Shapes the tops: the bottom's samples, these channels and spatial extents.
  void shape_tops(const Blob& bottom, const Blobs& top, i64 channels, const std::vector<i64>& extents,
                  Layout layout = Layout::nchw) const;
  /// True if blobs of `channels` channels may lie in blocks: the wanted candidates must take them.
  bool could_block(i64 channels) const;
  /// The numbers of groups and of output channels for a bottom of `in` channels.
  struct Sizes {
    i64 groups, outputs;
  };
  virtual Sizes sizes(i64 in) const;
  /// The wanted layout; empty if there is none.
  std::string wanted_layout() const { return choices_.wanted(layout_direction); }
  /// Sets shape_ to a convolution between these spatial extents, and chooses candidates.
  void plan(i64 samples, i64 in_channels, i64 out_channels, const std::vector<i64>& in, const std::vector<i64>& out,
            Precision precision, Layout src = Layout::nchw, Layout dst = Layout::nchw);
  /// All bottoms must have the first one's shape, and these channels. Throws ShapeError.
  void check_bottoms(const Blobs& bottom, i64 channels) const;
  i64 samples(const Blob& blob) const { return blob.count(0, channel_axis_); }
  /// The chosen plan of a direction, made by the last reshape.
  const ConvolutionPlan& plan_of(ConvolutionDirection direction) const {
    return choices_.plan(static_cast<std::size_t>(direction));
  }
  void run(ConvolutionDirection direction, ConvolutionArguments arguments);
  /// Runs the weight gradient of x and dy to the first parameter's gradient.
  void run_weight_gradient(const void* x, const void* dy);

  int channel_axis_ = 1;
  SlidingWindow window_;
  ConvolutionShape shape_;
  bool bias_ = true;
  std::unique_ptr<Volume> volume_;          // where there are more than two spatial axes
  std::unique_ptr<Blob> stacked_, images_;  // its input and output, and their gradients, as candidates see them

 private:
  void choose(ConvolutionDirection direction);
  void keep_weights(i64 floats, ConvolutionArguments& arguments);

  ClusterMemory kept_weights_;  // as forward packs them
  i64 kept_version_ = 0;        // RunState::parameter_version when they were packed; 0 means that they are not
  Choices<ConvolutionPlan> choices_{"forward", "weight_gradient", "input_gradient"};
};

/// Caffe's Convolution. Every bottom (N x C x H x W, or another number of spatial axes) gives a top (N x num_output x
/// OH x OW). All use the same weights (num_output x C / group x KH x KW) and bias. OH = (H + 2 pad - (dilation (KH - 1)
/// + 1)) / stride + 1, rounded down.
///
/// It accepts a rectifier if it has a bias, and a fixed map. Otherwise it writes sums over its top, if its candidate
/// can. Tops lie in blocks of channels (nchw16c) where the plan book has that for "layout", or by default where it
/// pays.
class ConvolutionLayer : public WindowedLayer {
 public:
  using WindowedLayer::WindowedLayer;
  static bool begins_bf16(const caffe::LayerParameter& parameter) { return keeps_bf16(parameter); }
  static PixelStride pixel_stride(const caffe::LayerParameter& parameter);
  static void set_pixel_stride(caffe::LayerParameter& parameter, PixelStride stride);
  bool keeps_blocks(const Blobs& bottom) const override;
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  PlanBook plans() const override;
  std::vector<std::string> refusals() const override;
  bool accept(const Epilogue& work) override;

 private:
  struct ChosenLayout {
    Layout layout = Layout::nchw;
    std::string why;  ///< the reason why the other one was passed over
    bool is_chosen = false;
  };
  void choose_layout(const Blob& bottom, const Shape& top);
  /// The reason why tops of so many channels cannot lie in blocks; empty means that they can.
  std::string refuse_blocks(const Blob& bottom, i64 channels) const;
  /// False if no candidate can work on such blobs, because the kernel is large. Known before `setup`.
  bool fits_blocks(const Blob& bottom, Layout src, Layout dst) const;
  float* room_for_sums();
  /// The map of sums to the top that it has accepted, or that its bias is.
  ChannelMap map_of_top();
  template <class T>
  void join_gradient(Blob& bottom, const T* dy);
  Channels outputs() const { return {shape_.mb, shape_.oc, shape_.pixels(), shape_.dst}; }

  ChosenLayout layout_;
  bool rectifies_ = false;
  Rectify rectify_;
  std::optional<epilogue::FixedMap> fixed_map_;  // accepted, if any
  std::unique_ptr<Blob> ones_, mapped_bias_;     // scales of a bias alone; a bias with the fixed map's
  ChannelSums* top_sums_ = nullptr;              // place for sums over the top; nullptr means none
  ClusterMemory sums_;                           // memory of these sums
  Blob* other_ = nullptr;                        // the blob whose gradient the bottom's joins; nullptr means none
  float slope_of_bottom_ = 1;                    // of the rectifier that made it, then
};

}  // namespace cortado
