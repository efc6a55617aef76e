#include "layers/infogain_loss/infogain_loss.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/formats/blob_proto.h"
#include "core/formats/prototxt.h"
#include "layers/infogain_loss/programs.h"
#include "layers/softmax_loss/labelled_planes.h"

namespace cortado {

void InfogainLossLayer::setup(const Blobs& bottom, const Blobs&) {
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

void InfogainLossLayer::reshape(const Blobs& bottom, const Blobs& top) {
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

/// The row of the matrix for every position (of label 0 where the label is ignored), and its sum. Returns how many
/// positions count.
i64 InfogainLossLayer::pick_gains(const Blob& labels, const Blob& matrix) {
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

void InfogainLossLayer::forward(const Blobs& bottom, const Blobs& top) {
  const auto& p = parameter().loss_param();
  kernel_.forward(group(), bottom[0]->data(), probability_->mutable_data(), workspace(kernel_.workspace()));
  const i64 counted = pick_gains(*bottom[1], bottom.size() == 3 ? *bottom[2] : *matrix_);

  const LabelledPlanes s = planes_of(group().spec(), kernel_, p, 4, 8);
  float* const partial = workspace(s.lines());
  PlanBuilder book(group().spec());
  const Buf probability = book.line<float>("probabilities", s.classes * s.block, Depth::two);
  const Buf labels = book.line<float>("labels", s.block, Depth::two);
  const Buf gains = book.line<float>("gains", s.classes * s.block, Depth::two), sum = book.line<float>("sum", 1, 1);
  group().launch(InfogainLoss{s, probability_->data(), bottom[1]->data(), gains_->data(), partial, probability, labels,
                              gains, sum},
                 book.plan(s.lines()));
  const double total = sum_over_lines(group(), partial, s.lines(), 1)[0];
  divisor_ = divisor(normalisation(caffe::LossParameter::VALID), kernel_.outer, kernel_.positions(),
                     static_cast<double>(counted));
  const auto loss = static_cast<float>(total / double{divisor_});
  top[0]->write_data(&loss);
}

void InfogainLossLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  check_labels_get_no_gradient(propagate_down);
  if (propagate_down.size() > 2 && propagate_down[2]) bad_config("the matrix has no gradient");
  if (!propagate_down[0]) return;
  const LabelledPlanes s = planes_of(group().spec(), kernel_, parameter().loss_param(), 5, 8);
  PlanBuilder book(group().spec());
  const Buf probability = book.line<float>("probabilities", s.classes * s.block, Depth::two);
  const Buf labels = book.line<float>("labels", s.block, Depth::two);
  const Buf gains = book.line<float>("gains", s.classes * s.block, Depth::two);
  const Buf sums = book.line<float>("sums", s.block, Depth::two), weight = book.line<float>("weight", 1, 1);
  const Buf dx = book.line<float>("dx", s.classes * s.block, 1);
  group().launch(
      InfogainGradient{s, probability_->data(), bottom[1]->data(), gains_->data(), sums_->data(), top[0]->diff(),
                       bottom[0]->mutable_diff(), 1 / divisor_, probability, labels, gains, sums, weight, dx},
      book.plan(s.lines()));
}

Layer::Cost InfogainLossLayer::cost(const Blobs& bottom, const Blobs&) const {
  const auto n = static_cast<double>(bottom[0]->count());
  return {50 * n, 4 * n, 16 * n, 16 * n};
}

}  // namespace cortado
