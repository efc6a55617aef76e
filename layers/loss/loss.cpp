#include "layers/loss/loss.h"

#include <algorithm>
#include <cmath>

namespace cortado {

std::vector<int> LossLayer::labels_of(const Blob& labels, i64 classes) const {
  const auto& p = parameter().loss_param();
  std::vector<int> numbers;
  i64 wrong = 0;
  for (const float value : labels.data_vector()) {
    const bool ignored = p.has_ignore_label() && value == static_cast<float>(p.ignore_label());
    const bool is_class = value >= 0 && value < static_cast<float>(classes) && value == std::floor(value);
    wrong += ignored || is_class ? 0 : 1;
    numbers.push_back(static_cast<int>(value));
  }
  if (wrong > 0)
    bad_config(
        std::to_string(wrong) + " labels of this batch are no whole numbers in 0.." + std::to_string(classes - 1),
        "check the data set's labels, or the number of outputs below");
  return numbers;
}

i64 LossLayer::check_labelled_rows(const Blob& scores, const Blob& labels) const {
  const i64 samples = scores.axes() > 0 ? scores.dim(0) : 1;
  if (labels.count() != samples || scores.count() == 0)
    bad_shape("scores of shape " + to_string(scores.shape()) +
              " need one label per sample, the second bottom has shape " + to_string(labels.shape()));
  return samples;
}

void LossLayer::check_labels_get_no_gradient(const std::vector<bool>& propagate_down) const {
  if (propagate_down.size() > 1 && propagate_down[1])
    bad_config("labels have no gradient", "set propagate_down to false for the labels");
}

caffe::LossParameter::NormalizationMode LossLayer::normalisation(
    caffe::LossParameter::NormalizationMode otherwise) const {
  const auto& p = parameter().loss_param();
  if (p.has_normalization()) return p.normalization();
  if (p.has_normalize()) return p.normalize() ? caffe::LossParameter::VALID : caffe::LossParameter::BATCH_SIZE;
  return otherwise;
}

float LossLayer::divisor(caffe::LossParameter::NormalizationMode mode, i64 samples, i64 positions,
                         double counted) const {
  switch (mode) {
    case caffe::LossParameter::FULL: return static_cast<float>(std::max<i64>(1, positions));
    case caffe::LossParameter::BATCH_SIZE: return static_cast<float>(std::max<i64>(1, samples));
    case caffe::LossParameter::NONE: return 1.0f / static_cast<float>(run().ranks);
    case caffe::LossParameter::VALID: break;
  }
  if (parameter().loss_param().has_ignore_label() && run().ranks > 1) {
    run().replicas->sum(&counted, 1);
    return static_cast<float>(std::max(counted, 1.0) / run().ranks);
  }
  return static_cast<float>(std::max(counted, 1.0));
}

std::vector<double> sum_over_lines(CoreGroup& group, const float* partial, i64 lines, i64 kinds) {
  std::vector<float> host(static_cast<std::size_t>(lines * kinds));
  group.copy(host.data(), partial, host.size() * sizeof(float));
  group.wait();
  std::vector<double> sums(static_cast<std::size_t>(kinds));
  for (std::size_t i = 0; i < host.size(); ++i) sums[i % sums.size()] += double{host[i]};
  return sums;
}

}  // namespace cortado
