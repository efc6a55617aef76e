#include "layers/label_loss/label_loss.h"

#include "layers/loss/pair_loss.h"

namespace cortado {

struct HingeTerms {
  template <class Use>
  static void with(const caffe::LayerParameter& layer, const Use& use) {
    use(loss::Hinge{layer.hinge_loss_param().norm() == caffe::HingeLossParameter::L2});
  }
};

struct LogarithmTerms {
  template <class Use>
  static void with(const caffe::LayerParameter&, const Use& use) {
    use(loss::LabelLogarithm{});
  }
};

template <class Terms>
void LabelLossLayer<Terms>::reshape(const Blobs& bottom, const Blobs& top) {
  samples_ = check_labelled_rows(*bottom[0], *bottom[1]);
  top[0]->reshape({});
}

template <class Terms>
void LabelLossLayer<Terms>::forward(const Blobs& bottom, const Blobs& top) {
  labels_of(*bottom[1], bottom[0]->count() / samples_);
  Terms::with(parameter(), [&](auto term) {
    const double sum = label_loss(group(), term, samples_, *bottom[0], *bottom[1], context().workspace);
    const auto loss = static_cast<float>(sum / static_cast<double>(samples_));
    top[0]->write_data(&loss);
  });
}

template <class Terms>
void LabelLossLayer<Terms>::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  check_labels_get_no_gradient(propagate_down);
  if (!propagate_down[0]) return;
  Terms::with(parameter(), [&](auto term) {
    label_loss_gradient(group(), term, samples_, *bottom[0], *bottom[1], *top[0], 1 / static_cast<float>(samples_));
  });
}

template <class Terms>
Layer::Cost LabelLossLayer<Terms>::cost(const Blobs& bottom, const Blobs&) const {
  const auto n = static_cast<double>(bottom[0]->count());
  return {3 * n, 3 * n, 4 * n, 8 * n};
}

template class LabelLossLayer<HingeTerms>;
template class LabelLossLayer<LogarithmTerms>;

}  // namespace cortado
