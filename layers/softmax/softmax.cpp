#include "layers/softmax/softmax.h"

#include "core/formats/caffe.pb.h"

namespace cortado {

void SoftmaxLayer::reshape(const Blobs& bottom, const Blobs& top) {
  const int axis = bottom[0]->canonical_axis(parameter().softmax_param().axis());
  kernel_ = {bottom[0]->count(0, axis), bottom[0]->dim(axis), bottom[0]->count(axis + 1)};
  top[0]->reshape(bottom[0]->shape());
}

void SoftmaxLayer::forward(const Blobs& bottom, const Blobs& top) {
  kernel_.forward(group(), bottom[0]->data(), top[0]->mutable_data(), workspace(kernel_.workspace()));
}

void SoftmaxLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  if (!propagate_down[0]) return;
  kernel_.backward(group(), top[0]->data(), top[0]->diff(), bottom[0]->mutable_diff(), workspace(kernel_.workspace()));
}

Layer::Cost SoftmaxLayer::cost(const Blobs& bottom, const Blobs&) const {
  const auto n = static_cast<double>(bottom[0]->count());
  return {20 * n, 4 * n, 8 * n, 12 * n};  // an exponential is about twenty operations
}

}  // namespace cortado
