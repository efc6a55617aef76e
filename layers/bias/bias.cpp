#include "layers/bias/bias.h"

#include "core/formats/caffe.pb.h"

namespace cortado {

bool BiasLayer::learns_per_channel() const {
  return parameter().bias_param().axis() == 1 && parameter().bias_param().num_axes() == 1;
}

void BiasLayer::setup(const Blobs& bottom, const Blobs&) {
  const auto& p = parameter().bias_param();
  if (bottom.size() == 1) add_parameter(learned_shape(*bottom[0], p.axis(), p.num_axes()), p.filler());
}

void BiasLayer::reshape(const Blobs& bottom, const Blobs& top) {
  const Blob& bias = bottom.size() > 1 ? *bottom[1] : *blobs()[0];
  shape_ = place(bias, *bottom[0], parameter().bias_param().axis());
  top[0]->reshape_like(*bottom[0]);
}

void BiasLayer::forward(const Blobs& bottom, const Blobs& top) {
  const Blob& bias = bottom.size() > 1 ? *bottom[1] : *blobs()[0];
  shape_.affine<float>(group(), bottom[0]->data(), nullptr, nullptr, bias.data(), top[0]->mutable_data());
}

void BiasLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  const bool given = bottom.size() > 1;
  const float* const dy = top[0]->diff();
  if (given ? propagate_down[1] : param_propagate_down(0)) {
    Blob& bias = given ? *bottom[1] : *blobs()[0];
    if (given) bias.zero_diff();  // parameters' gradients are added, bottoms' are written
    shape_.sum(group(), room(), dy, bias.mutable_diff());
  }
  if (propagate_down[0] && bottom[0] != top[0])
    group().copy(bottom[0]->mutable_diff(), dy, static_cast<std::size_t>(bottom[0]->bytes()));
}

Layer::Cost BiasLayer::cost(const Blobs& bottom, const Blobs&) const {
  const auto n = static_cast<double>(bottom[0]->count());
  return {n, n, 8 * n, 12 * n};
}

}  // namespace cortado
