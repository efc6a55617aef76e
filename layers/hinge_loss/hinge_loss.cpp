#include "layers/hinge_loss/hinge_loss.h"

#include "layers/loss/pair_loss.h"

namespace cortado {
namespace {
loss::Hinge term(const caffe::HingeLossParameter& p) { return {p.norm() == caffe::HingeLossParameter::L2}; }
}  // namespace

void HingeLossLayer::reshape(const Blobs& bottom, const Blobs& top) {
  samples_ = check_labelled_rows(*bottom[0], *bottom[1]);
  top[0]->reshape({});
}

void HingeLossLayer::forward(const Blobs& bottom, const Blobs& top) {
  labels_of(*bottom[1], bottom[0]->count() / samples_);
  const double sum =
      label_loss(group(), term(parameter().hinge_loss_param()), samples_, *bottom[0], *bottom[1], context().workspace);
  const auto loss = static_cast<float>(sum / static_cast<double>(samples_));
  top[0]->write_data(&loss);
}

void HingeLossLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  check_labels_get_no_gradient(propagate_down);
  if (propagate_down[0])
    label_loss_gradient(group(), term(parameter().hinge_loss_param()), samples_, *bottom[0], *bottom[1], *top[0],
                        1 / static_cast<float>(samples_));
}

Layer::Cost HingeLossLayer::cost(const Blobs& bottom, const Blobs&) const {
  const auto n = static_cast<double>(bottom[0]->count());
  return {3 * n, 3 * n, 4 * n, 8 * n};
}

}  // namespace cortado
