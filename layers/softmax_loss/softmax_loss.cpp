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
/// its meaning with several ranks. With label_smoothing a label's class has less than all of the target (LabelTargets).
class SoftmaxLossLayer : public LossLayer {
 public:
  using LossLayer::LossLayer;
  Arity tops() const override { return {1, 2}; }
  void setup(const Blobs&, const Blobs&) override {
    const float smoothing = parameter().loss_param().label_smoothing();
    if (!(smoothing >= 0 && smoothing < 1)) bad_config("label_smoothing must be at least 0 and below 1");
    probability_ = std::make_unique<Blob>(group());
  }

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
    const ClassPlanes s = planes_of(group().spec(), kernel_, 2, 4);
    kernel_.forward(group(), bottom[0]->data(), probability_->mutable_data(), workspace(kernel_.workspace()));

    float* const partial = workspace(loss_sums * (s.lines() + 1));
    float* const sums = partial + loss_sums * s.lines();
    PlanBuilder book(group().spec());
    const LossPartials partials{counted_labels(kernel_, parameter().loss_param()), targets(),
                                reads(book, "probabilities", probability_->data(), s),
                                reads(book, "labels", bottom[1]->data(), s.positions),
                                writes(book, "sums", partial, RowLines::whole(s.lines(), loss_sums))};
    group().launch(partials, book.plan(s.lines()));
    PlanBuilder total(group().spec());
    const i64 together = line_elements(group().spec(), s.lines(), 3, loss_sums * 4) * loss_sums;
    const LossTotals totals{reads(total, "partial sums", partial, RowLines{1, loss_sums * s.lines(), together}),
                            writes(total, "sum", sums, RowLines::whole(loss_sums))};
    group().launch(totals, total.plan(loss_sums));

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
    const ClassPlanes s = planes_of(group().spec(), kernel_, 3, 4);
    PlanBuilder book(group().spec());
    const LossGradient program{counted_labels(kernel_, parameter().loss_param()),
                               targets(),
                               reads(book, "probabilities", probability_->data(), s),
                               reads(book, "labels", bottom[1]->data(), s.positions),
                               reads(book, "weight", top[0]->diff(), RowLines::whole(1), Depth::one),
                               normaliser_,
                               writes(book, "dx", bottom[0]->mutable_diff(), s)};
    group().launch(program, book.plan(s.lines()));
  }

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    const auto n = static_cast<double>(bottom[0]->count());
    return {20 * n, 3 * n, 8 * n, 8 * n};
  }

 private:
  LabelTargets targets() const {
    const float smoothing = parameter().loss_param().label_smoothing();
    return {1 - smoothing, smoothing / static_cast<float>(kernel_.classes)};
  }

  SoftmaxKernel kernel_;
  std::unique_ptr<Blob> probability_;
  float normaliser_ = 1;  // of the last forward
};

}  // namespace

void add_softmax_loss(LayerTable& table) { table.add<SoftmaxLossLayer>("SoftmaxWithLoss"); }

}  // namespace cortado
