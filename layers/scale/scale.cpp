#include "layers/scale/scale.h"

#include "core/formats/caffe.pb.h"

namespace cortado {

bool ScaleLayer::keeps_bf16(const caffe::LayerParameter& parameter) { return parameter.bottom_size() == 1; }

void ScaleLayer::setup(const Blobs& bottom, const Blobs&) {
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

void ScaleLayer::reshape(const Blobs& bottom, const Blobs& top) {
  const Blob& scale = bottom.size() > 1 ? *bottom[1] : *blobs()[0];
  shape_ = place(scale, *bottom[0], parameter().scale_param().axis());
  if (bottom[0] == top[0]) input_->reshape_like(*bottom[0]);
  unused_->reshape(scale.shape());
  top[0]->reshape_like(*bottom[0]);
}

void ScaleLayer::forward(const Blobs& bottom, const Blobs& top) {
  with_element(bottom[0]->precision(), [&](auto element) { run_forward<decltype(element)>(bottom, top); });
}

template <class T>
void ScaleLayer::run_forward(const Blobs& bottom, const Blobs& top) {
  const Blob& scale = bottom.size() > 1 ? *bottom[1] : *blobs()[0];
  if (bottom[0] == top[0])
    group().copy(input_->mutable_data<T>(), bottom[0]->data<T>(), static_cast<std::size_t>(bottom[0]->bytes()));
  const float* const bias = parameter().scale_param().bias_term() ? blobs().back()->data() : nullptr;
  shape_.affine(group(), bottom[0]->data<T>(), nullptr, scale.data(), bias, top[0]->mutable_data<T>());
}

void ScaleLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  with_element(bottom[0]->precision(),
               [&](auto element) { run_backward<decltype(element)>(top, propagate_down, bottom); });
}

template <class T>
void ScaleLayer::run_backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
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

bool ScaleLayer::learns_per_channel() const {
  return parameter().scale_param().axis() == 1 && parameter().scale_param().num_axes() == 1;
}

Traits ScaleLayer::traits() {
  Traits traits;
  if (!learns_per_channel() || parameter().bottom_size() != 1) return traits;
  Blob* const bias = blobs().size() > 1 ? blobs()[1].get() : nullptr;
  traits.affine = AffineMap{blobs()[0].get(), bias, param_propagate_down(0), param_propagate_down(1)};
  return traits;
}

Layer::Cost ScaleLayer::cost(const Blobs& bottom, const Blobs&) const {
  const auto n = static_cast<double>(bottom[0]->count());
  return {2 * n, 5 * n, 8 * n, 16 * n};
}

}  // namespace cortado
