#include <algorithm>

#include "core/base/error.h"
#include "core/formats/blob_proto.h"
#include "core/formats/prototxt.h"
#include "core/net/layer_table.h"
#include "layers/infogain_loss/programs.h"
#include "layers/loss/loss.h"
#include "layers/rows/rows.h"
#include "layers/softmax/kernel.h"
#include "layers/softmax_loss/labelled_planes.h"

namespace cortado {
namespace {

/// Caffe's InfogainLoss: SoftmaxWithLoss with -sum over classes of H[label][class] log softmax(scores)[class]. The
/// matrix H (classes x classes) is the third bottom, or comes from infogain_loss_param.source (a BlobProto). An
/// optional second top is the softmax.
class InfogainLossLayer : public LossLayer {
 public:
  using LossLayer::LossLayer;
  Arity bottoms() const override { return {2, 3}; }
  Arity tops() const override { return {1, 2}; }
  void setup(const Blobs& bottom, const Blobs&) override {
    for (auto* blob : {&matrix_, &probability_, &gains_, &sums_}) *blob = std::make_unique<Blob>(group());
    picker_ = std::make_unique<RowPicker>(group());
    const auto& p = parameter().infogain_loss_param();
    if (bottom.size() == 3) return;
    if (!p.has_source()) bad_config("has no matrix", "give a third bottom, or infogain_loss_param { source: FILE }");
    caffe::BlobProto stored;
    read_binary(p.source(), stored);
    matrix_->reshape(shape_of(stored));
    matrix_->write_data(values_of(stored, p.source()).data());
  }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    const int axis = bottom[0]->canonical_axis(parameter().infogain_loss_param().axis());
    kernel_ = {bottom[0]->count(0, axis), bottom[0]->dim(axis), bottom[0]->count(axis + 1)};
    if (bottom[1]->count() != kernel_.positions())
      bad_shape("scores of shape " + to_string(bottom[0]->shape()) + " need " + std::to_string(kernel_.positions()) +
                " labels, the second bottom has shape " + to_string(bottom[1]->shape()));
    const Blob& matrix = bottom.size() == 3 ? *bottom[2] : *matrix_;
    if (matrix.count() != kernel_.classes * kernel_.classes)
      bad_shape("the matrix has shape " + to_string(matrix.shape()) + ", " + std::to_string(kernel_.classes) +
                " classes need the square of their number");
    top[0]->reshape({});
    probability_->reshape(bottom[0]->shape());
    gains_->reshape({kernel_.positions(), kernel_.classes});
    sums_->reshape({kernel_.positions()});
    if (top.size() > 1) {
      top[1]->reshape(bottom[0]->shape());
      top[1]->share_data(*probability_);
    }
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    kernel_.forward(group(), bottom[0]->data(), probability_->mutable_data(), workspace(kernel_.workspace()));
    const i64 counted = pick_gains(*bottom[1], bottom.size() == 3 ? *bottom[2] : *matrix_);

    const ClassPlanes s = planes_of(group().spec(), kernel_, 4, 8);
    float* const partial = workspace(s.lines());
    PlanBuilder book(group().spec());
    const InfogainLoss program{counted_labels(kernel_, parameter().loss_param()),
                               reads(book, "probabilities", probability_->data(), s),
                               reads(book, "labels", bottom[1]->data(), s.positions),
                               reads(book, "gains", gains_->data(), ClassRows{s.positions, s.classes}),
                               writes(book, "sum", partial, RowLines::whole(s.lines()))};
    group().launch(program, book.plan(s.lines()));
    const double total = sum_over_lines(group(), partial, s.lines(), 1)[0];
    divisor_ = divisor(normalisation(caffe::LossParameter::VALID), kernel_.outer, kernel_.positions(),
                       static_cast<double>(counted));
    const auto loss = static_cast<float>(total / double{divisor_});
    top[0]->write_data(&loss);
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    check_labels_get_no_gradient(propagate_down);
    if (propagate_down.size() > 2 && propagate_down[2]) bad_config("the matrix has no gradient");
    if (!propagate_down[0]) return;
    const ClassPlanes s = planes_of(group().spec(), kernel_, 5, 8);
    PlanBuilder book(group().spec());
    const InfogainGradient program{counted_labels(kernel_, parameter().loss_param()),
                                   reads(book, "probabilities", probability_->data(), s),
                                   reads(book, "labels", bottom[1]->data(), s.positions),
                                   reads(book, "gains", gains_->data(), ClassRows{s.positions, s.classes}),
                                   reads(book, "sums", sums_->data(), s.positions),
                                   reads(book, "weight", top[0]->diff(), RowLines::whole(1), Depth::one),
                                   1 / divisor_,
                                   writes(book, "dx", bottom[0]->mutable_diff(), s)};
    group().launch(program, book.plan(s.lines()));
  }

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    const auto n = static_cast<double>(bottom[0]->count());
    return {50 * n, 4 * n, 16 * n, 16 * n};
  }

 private:
  /// The row of the matrix for every position (of label 0 where the label is ignored), and its sum. Returns how many
  /// positions count.
  i64 pick_gains(const Blob& labels, const Blob& matrix) {
    std::vector<int> index = labels_of(labels, kernel_.classes);
    const auto values = matrix.data_vector();
    std::vector<float> sums;
    i64 counted = 0;
    for (int& label : index) {
      const bool counts =
          !(parameter().loss_param().has_ignore_label() && label == parameter().loss_param().ignore_label());
      counted += counts ? 1 : 0;
      label = counts ? label : 0;
      const auto row = values.begin() + label * kernel_.classes;
      double sum = 0;
      std::for_each(row, row + kernel_.classes, [&](float v) { sum += double{v}; });
      sums.push_back(static_cast<float>(sum));
    }
    sums_->write_data(sums.data());
    picker_->pick(index);
    picker_->gather(matrix.data(), nullptr, kernel_.classes, gains_->mutable_data());
    return counted;
  }

  SoftmaxKernel kernel_;
  std::unique_ptr<Blob> matrix_;  // H, where it comes from a file
  std::unique_ptr<Blob> probability_, gains_,
      sums_;  // gains: a row of H for each position; sums: of each of these rows
  std::unique_ptr<RowPicker> picker_;
  float divisor_ = 1;  // of the last forward
};

}  // namespace

void add_infogain_loss(LayerTable& table) { table.add<InfogainLossLayer>("InfogainLoss"); }

}  // namespace cortado
