#include "core/net/layer_table.h"
#include "layers/loss/loss.h"
#include "layers/loss/pair_loss.h"

namespace cortado {
namespace {
loss::SigmoidCrossEntropy term(const caffe::LossParameter& p) { return {p.has_ignore_label(), p.ignore_label()}; }

/// Caffe's SigmoidCrossEntropyLoss: -t log s - (1 - t) log(1 - s) for scores x, s = sigmoid(x) and targets t. It is
/// summed over all elements and divided by the batch unless loss_param says otherwise. Targets whose whole part is the
/// ignore_label do not count.
class SigmoidCrossEntropyLossLayer : public LossLayer {
 public:
  using LossLayer::LossLayer;
  void reshape(const Blobs& bottom, const Blobs& top) override {
    if (bottom[0]->count() != bottom[1]->count())
      bad_shape("scores of shape " + to_string(bottom[0]->shape()) + " and targets of shape " +
                to_string(bottom[1]->shape()) + " do not have as many elements");
    top[0]->reshape({});
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    const auto sums = pair_loss(group(), term(parameter().loss_param()), *bottom[0], *bottom[1], context().workspace);
    const i64 samples = bottom[0]->axes() > 0 ? bottom[0]->dim(0) : 1;
    divisor_ = divisor(normalisation(caffe::LossParameter::BATCH_SIZE), samples, bottom[0]->count(), sums[1]);
    const auto loss = static_cast<float>(sums[0] / double{divisor_});
    top[0]->write_data(&loss);
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    check_labels_get_no_gradient(propagate_down);
    if (propagate_down[0])
      pair_loss_gradient(group(), term(parameter().loss_param()), *bottom[0], *bottom[1], *top[0], 1 / divisor_,
                         bottom[0]->mutable_diff());
  }

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    const auto n = static_cast<double>(bottom[0]->count());
    return {40 * n, 25 * n, 8 * n, 12 * n};
  }

 private:
  float divisor_ = 1;  // of the last forward
};

}  // namespace

void add_sigmoid_cross_entropy_loss(LayerTable& table) {
  table.add<SigmoidCrossEntropyLossLayer>("SigmoidCrossEntropyLoss");
}

}  // namespace cortado
