#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/channels/factor_layer.h"

namespace cortado {
namespace {

/// Caffe's Scale: y = x times a scale, plus a bias of the same shape with bias_term. The scale's shape is num_axes of
/// the bottom's axes from `axis` on, repeated over the others. The scale is learned, or is the second bottom. It may
/// run in place.
class ScaleLayer : public FactorLayer {
 public:
  using FactorLayer::FactorLayer;
  /// True for a learned scale, not for a second bottom.
  static bool keeps_bf16(const caffe::LayerParameter& parameter) { return parameter.bottom_size() == 1; }

  void setup(const Blobs& bottom, const Blobs&) override {
    const auto& p = parameter().scale_param();
    Shape shape = bottom.size() > 1 ? bottom[1]->shape() : Shape{};
    if (bottom.size() == 1) {
      shape = learned_shape(*bottom[0], p.axis(), p.num_axes());
      caffe::FillerParameter one;
      one.set_value(1);
      add_parameter(shape, p.has_filler() ? p.filler() : one);
    }
    if (p.bias_term()) add_parameter(shape, p.bias_filler());
    input_ = std::make_unique<Blob>(group());
    unused_ = std::make_unique<Blob>(group());
  }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    const Blob& scale = bottom.size() > 1 ? *bottom[1] : *blobs()[0];
    shape_ = place(scale, *bottom[0], parameter().scale_param().axis());
    if (bottom[0] == top[0]) input_->reshape_like(*bottom[0]);
    unused_->reshape(scale.shape());
    top[0]->reshape_like(*bottom[0]);
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    with_element(bottom[0]->precision(), [&](auto element) { run_forward<decltype(element)>(bottom, top); });
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    with_element(bottom[0]->precision(),
                 [&](auto element) { run_backward<decltype(element)>(top, propagate_down, bottom); });
  }

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    const auto n = static_cast<double>(bottom[0]->count());
    return {2 * n, 5 * n, 8 * n, 16 * n};
  }

  /// Has an affine map where the scale is learned and per channel.
  Traits traits() override {
    Traits traits;
    if (!learns_per_channel() || parameter().bottom_size() != 1) return traits;
    Blob* const bias = blobs().size() > 1 ? blobs()[1].get() : nullptr;
    traits.affine = AffineMap{blobs()[0].get(), bias, param_propagate_down(0), param_propagate_down(1)};
    return traits;
  }

 protected:
  int axis() const override { return parameter().scale_param().axis(); }
  bool learns_per_channel() const override { return axis() == 1 && parameter().scale_param().num_axes() == 1; }

 private:
  template <class T>
  void run_forward(const Blobs& bottom, const Blobs& top) {
    const Blob& scale = bottom.size() > 1 ? *bottom[1] : *blobs()[0];
    if (bottom[0] == top[0])
      group().copy(input_->mutable_data<T>(), bottom[0]->data<T>(), static_cast<std::size_t>(bottom[0]->bytes()));
    const float* const bias = parameter().scale_param().bias_term() ? blobs().back()->data() : nullptr;
    shape_.affine(group(), bottom[0]->data<T>(), nullptr, scale.data(), bias, top[0]->mutable_data<T>());
  }

  template <class T>
  void run_backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
    const bool given = bottom.size() > 1, biased = parameter().scale_param().bias_term();
    const bool want_scale = given ? propagate_down[1] : param_propagate_down(0);
    const bool want_bias = biased && param_propagate_down(blobs().size() - 1);
    const T* const dy = top[0]->diff<T>();
    const T* const x = bottom[0] == top[0] ? input_->data<T>() : bottom[0]->data<T>();
    if (want_scale || want_bias) {
      float* const bias = want_bias ? blobs().back()->mutable_diff() : unused_->mutable_data();
      float* const scale = !want_scale ? unused_->mutable_diff()
                           : given     ? bottom[1]->mutable_diff()
                                       : blobs()[0]->mutable_diff();
      // Parameters' gradients are added, bottoms' are written.
      if (given && want_scale) bottom[1]->zero_diff();
      shape_.gradients(group(), room(), x, dy, true, bias, scale);
    }
    if (propagate_down[0])
      shape_.affine(group(), dy, nullptr, given ? bottom[1]->data() : blobs()[0]->data(), nullptr,
                    bottom[0]->mutable_diff<T>());
  }

  Channels shape_;
  std::unique_ptr<Blob> input_, unused_;  // the input of an in-place run; sums that nobody asked for
};

}  // namespace

void add_scale(LayerTable& table) { table.add<ScaleLayer>("Scale"); }

}  // namespace cortado
