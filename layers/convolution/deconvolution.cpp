#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/channels/channels.h"
#include "layers/convolution/convolution.h"

namespace cortado {
namespace {

/// Caffe's Deconvolution, a convolution turned round. A convolution with these weights (C x num_output / group x KH x
/// KW) would make the bottom (N x C x H x W) from the top (N x num_output x OH x OW). Forward is that convolution's
/// input gradient. OH = stride (H - 1) + dilation (KH - 1) + 1 - 2 pad.
class DeconvolutionLayer : public WindowedLayer {
 public:
  using WindowedLayer::WindowedLayer;
  void setup(const Blobs& bottom, const Blobs& top) override {
    const auto& p = parameter().convolution_param();
    read_parameter(bottom, top);
    add_parameter(weights(p.num_output(), bottom[0]->dim(channel_axis_)), p.weight_filler());
    if (bias_) add_parameter({p.num_output()}, p.bias_filler());
  }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    const i64 in_channels = blobs()[0]->dim(1) * shape_.g, out_channels = blobs()[0]->dim(0);
    check_bottoms(bottom, out_channels);
    const std::vector<i64> out = spatial_sizes(*bottom[0], window_.axes());
    std::vector<i64> in;
    for (std::size_t d = 0; d < out.size(); ++d) {
      in.push_back(window_.inputs(d, out[d]));
      if (in[d] < 1)
        bad_shape("a pad of " + std::to_string(window_.pad[d]) + " leaves nothing of spatial axis " +
                  std::to_string(d) + " of the top");
    }
    shape_tops(*bottom[0], top, in_channels, in);
    plan(samples(*bottom[0]), in_channels, out_channels, in, out, bottom[0]->precision());
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    const i64 channels = blobs()[0]->dim(1) * shape_.g, pixels = top[0]->count(channel_axis_ + 1);
    with_element(shape_.precision, [&](auto element) {
      using T = decltype(element);
      for (std::size_t i = 0; i < bottom.size(); ++i) {
        if (volume_) volume_->unorder(bottom[i]->data(), images_->mutable_data());
        const Blob& x = volume_ ? *images_ : *bottom[i];
        T* const y = (volume_ ? *stacked_ : *top[i]).template mutable_data<T>();
        run(ConvolutionDirection::input_gradient, {nullptr, blobs()[0]->data(), x.data<T>(), y});
        if (volume_) volume_->unstack(stacked_->data(), top[i]->mutable_data(), top[i]->count());
        if (bias_)
          Channels{samples(*top[i]), channels, pixels}.affine<T>(group(), top[i]->data<T>(), nullptr, nullptr,
                                                                 blobs()[1]->data(), top[i]->mutable_data<T>());
      }
    });
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    const i64 channels = blobs()[0]->dim(1) * shape_.g, pixels = top[0]->count(channel_axis_ + 1);
    with_element(shape_.precision, [&](auto element) {
      using T = decltype(element);
      for (std::size_t i = 0; i < bottom.size(); ++i) {
        if (bias_ && param_propagate_down(1))
          Channels{samples(*top[i]), channels, pixels}.sum(group(), room(), top[i]->diff<T>(),
                                                           blobs()[1]->mutable_diff());
        if (volume_) {
          volume_->stack(top[i]->diff(), stacked_->mutable_diff());
          volume_->unorder(bottom[i]->data(), images_->mutable_data());
        }
        const T* const dy = (volume_ ? *stacked_ : *top[i]).template diff<T>();
        const Blob& x = volume_ ? *images_ : *bottom[i];
        if (param_propagate_down(0)) run_weight_gradient(dy, x.data<T>());
        if (!propagate_down[i]) continue;
        Blob& dx = volume_ ? *images_ : *bottom[i];
        run(ConvolutionDirection::forward, {dy, blobs()[0]->data(), nullptr, dx.mutable_diff<T>()});
        if (volume_) volume_->order(images_->diff(), bottom[i]->mutable_diff());
      }
    });
  }
};

}  // namespace

void add_deconvolution(LayerTable& table) { table.add<DeconvolutionLayer>("Deconvolution"); }

}  // namespace cortado
