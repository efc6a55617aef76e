#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/loss/loss.h"
#include "layers/softmax/kernel.h"
#include "layers/softmax_loss/labelled_planes.h"

namespace cortado {
namespace {

/// Caffe's SoftmaxWithLoss. Bottoms are scores (classes along softmax_param.axis) and labels (one per position). The
/// top is the mean of -log softmax(scores)[label]; an optional second top is the softmax. loss_param says which label
/// is ignored and the divisor of the mean (VALID labels, FULL positions, BATCH_SIZE, NONE). LossLayer::divisor tells
/// its meaning with several ranks.
class SoftmaxLossLayer : public LossLayer {
 public:
  using LossLayer::LossLayer;
  Arity tops() const override { return {1, 2}; }
  void setup(const Blobs&, const Blobs&) override { probability_ = std::make_unique<Blob>(group()); }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    const int axis = bottom[0]->canonical_axis(parameter().softmax_param().axis());
    kernel_ = {bottom[0]->count(0, axis), bottom[0]->dim(axis), bottom[0]->count(axis + 1)};
    if (bottom[1]->count() != kernel_.positions())
      bad_shape("scores of shape " + to_string(bottom[0]->shape()) + " need " + std::to_string(kernel_.positions()) +
                " labels, the second bottom has shape " + to_string(bottom[1]->shape()));
    top[0]->reshape({});
    probability_->reshape(bottom[0]->shape());
    if (top.size() > 1) {
      top[1]->reshape(bottom[0]->shape());
      top[1]->share_data(*probability_);
    }
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    const auto& spec = group().spec();
    const LabelledPlanes s = planes_of(spec, kernel_, parameter().loss_param(), 2, 4);
    kernel_.forward(group(), bottom[0]->data(), probability_->mutable_data(), workspace(kernel_.workspace()));

    float* const partial = workspace(loss_sums * (s.lines() + 1));
    float* const sums = partial + loss_sums * s.lines();
    PlanBuilder book(spec);
    const Buf probability = book.line<float>("probabilities", s.classes * s.block, Depth::two);
    const Buf labels = book.line<float>("labels", s.block, Depth::two), part = book.line<float>("sums", loss_sums, 1);
    group().launch(LossPartials{s, probability_->data(), bottom[1]->data(), partial, probability, labels, part},
                   book.plan(s.lines()));
    PlanBuilder total(spec);
    const i64 block = line_elements(spec, s.lines(), 3, loss_sums * 4);
    const Buf parts = total.line<float>("partial sums", block * loss_sums, Depth::two),
              sum = total.line<float>("sum", 1, 1);
    group().launch(LossTotals{partial, sums, s.lines(), block, parts, sum}, total.plan(loss_sums));

    // The mean's divisor may need the other ranks, and labels that are no class must not go unnoticed.
    float host[loss_sums];
    group().copy(host, sums, sizeof host);
    group().wait();
    if (host[2] > 0) labels_of(*bottom[1], kernel_.classes);  // tells which
    normaliser_ = divisor(normalisation(caffe::LossParameter::VALID), kernel_.outer, kernel_.positions(), host[1]);
    const float loss = host[0] / normaliser_;
    top[0]->write_data(&loss);
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    check_labels_get_no_gradient(propagate_down);
    if (!propagate_down[0]) return;
    const LabelledPlanes s = planes_of(group().spec(), kernel_, parameter().loss_param(), 3, 4);
    PlanBuilder book(group().spec());
    const Buf probability = book.line<float>("probabilities", s.classes * s.block, Depth::two);
    const Buf labels = book.line<float>("labels", s.block, Depth::two), weight = book.line<float>("weight", 1, 1);
    const Buf dx = book.line<float>("dx", s.classes * s.block, 1);
    group().launch(LossGradient{s, probability_->data(), bottom[1]->data(), top[0]->diff(), bottom[0]->mutable_diff(),
                                normaliser_, probability, labels, weight, dx},
                   book.plan(s.lines()));
  }

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    const auto n = static_cast<double>(bottom[0]->count());
    return {20 * n, 3 * n, 8 * n, 8 * n};
  }

 private:
  SoftmaxKernel kernel_;
  std::unique_ptr<Blob> probability_;
  float normaliser_ = 1;  // of the last forward
};

}  // namespace

void add_softmax_loss(LayerTable& table) { table.add<SoftmaxLossLayer>("SoftmaxWithLoss"); }

}  // namespace cortado
