#include "core/net/layer_table.h"
#include "layers/loss/loss.h"
#include "layers/loss/pair_loss.h"

namespace cortado {
namespace {

/// Caffe's HingeLoss, one against all: max(0, 1 + score), 1 - score for the label's class, or their squares with norm
/// L2.
struct HingeTerms {
  template <class Use>
  static void with(const caffe::LayerParameter& layer, const Use& use) {
    use(loss::Hinge{layer.hinge_loss_param().norm() == caffe::HingeLossParameter::L2});
  }
};

/// Caffe's MultinomialLogisticLoss: -log of the label's probability. The first bottom holds probabilities (a
/// softmax's); those below 1e-20 count as 1e-20.
struct LogarithmTerms {
  template <class Use>
  static void with(const caffe::LayerParameter&, const Use& use) {
    use(loss::LabelLogarithm{});
  }
};

/// A loss of scores (N x anything) with a label for each sample: the sum of a term over scores, divided by the batch.
/// The term depends on the score and on whether it is the label's. `Terms::with(layer's parameter, use)` calls `use`
/// with the term (layers/loss/functions.h).
template <class Terms>
class LabelLossLayer : public LossLayer {
 public:
  using LossLayer::LossLayer;
  void reshape(const Blobs& bottom, const Blobs& top) override {
    samples_ = check_labelled_rows(*bottom[0], *bottom[1]);
    top[0]->reshape({});
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    labels_of(*bottom[1], bottom[0]->count() / samples_);
    Terms::with(parameter(), [&](auto term) {
      const double sum = label_loss(group(), term, samples_, *bottom[0], *bottom[1], context().workspace);
      const auto loss = static_cast<float>(sum / static_cast<double>(samples_));
      top[0]->write_data(&loss);
    });
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    check_labels_get_no_gradient(propagate_down);
    if (!propagate_down[0]) return;
    Terms::with(parameter(), [&](auto term) {
      label_loss_gradient(group(), term, samples_, *bottom[0], *bottom[1], *top[0], 1 / static_cast<float>(samples_));
    });
  }

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    const auto n = static_cast<double>(bottom[0]->count());
    return {3 * n, 3 * n, 4 * n, 8 * n};
  }

 private:
  i64 samples_ = 1;
};

}  // namespace

void add_label_loss(LayerTable& table) {
  table.add<LabelLossLayer<HingeTerms>>("HingeLoss");
  table.add<LabelLossLayer<LogarithmTerms>>("MultinomialLogisticLoss");
}

}  // namespace cortado
