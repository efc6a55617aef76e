#include "layers/sigmoid_cross_entropy_loss/sigmoid_cross_entropy_loss.h"

#include "layers/loss/pair_loss.h"

namespace cortado {
namespace {
loss::SigmoidCrossEntropy term(const caffe::LossParameter& p) { return {p.has_ignore_label(), p.ignore_label()}; }
}  // namespace

void SigmoidCrossEntropyLossLayer::reshape(const Blobs& bottom, const Blobs& top) {
  if (bottom[0]->count() != bottom[1]->count())
    bad_shape("scores of shape " + to_string(bottom[0]->shape()) + " and targets of shape " +
              to_string(bottom[1]->shape()) + " do not have as many elements");
  top[0]->reshape({});
}

void SigmoidCrossEntropyLossLayer::forward(const Blobs& bottom, const Blobs& top) {
  const auto sums = pair_loss(group(), term(parameter().loss_param()), *bottom[0], *bottom[1], context().workspace);
  const i64 samples = bottom[0]->axes() > 0 ? bottom[0]->dim(0) : 1;
  divisor_ = divisor(normalisation(caffe::LossParameter::BATCH_SIZE), samples, bottom[0]->count(), sums[1]);
  const auto loss = static_cast<float>(sums[0] / double{divisor_});
  top[0]->write_data(&loss);
}

void SigmoidCrossEntropyLossLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down,
                                            const Blobs& bottom) {
  check_labels_get_no_gradient(propagate_down);
  if (propagate_down[0])
    pair_loss_gradient(group(), term(parameter().loss_param()), *bottom[0], *bottom[1], *top[0], 1 / divisor_,
                       bottom[0]->mutable_diff());
}

Layer::Cost SigmoidCrossEntropyLossLayer::cost(const Blobs& bottom, const Blobs&) const {
  const auto n = static_cast<double>(bottom[0]->count());
  return {40 * n, 25 * n, 8 * n, 12 * n};
}

}  // namespace cortado
