#include "layers/loss/loss.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "layers/loss/labels.h"

namespace cortado {

bool LabelRule::allows(float label) const {
  const bool is_class = label >= 0 && label < static_cast<float>(classes) && label == std::floor(label);
  return is_class || ignores_label(label);
}

std::string wrong_labels(const std::vector<float>& labels, const LabelRule& rule, i64 per_sample, i64 first) {
  const auto is_wrong = [&](float label) { return !rule.allows(label); };
  const auto wrong = std::find_if(labels.begin(), labels.end(), is_wrong);
  if (wrong == labels.end()) return "";
  const i64 at = wrong - labels.begin(), sample = at / per_sample;
  std::ostringstream text;
  text << "sample " << sample << " of this batch, number " << first + sample << " since the beginning, has the label "
       << *wrong;
  if (per_sample > 1) text << " at its position " << at % per_sample;
  text << "; labels are whole numbers from 0 to " << rule.classes - 1;
  if (rule.ignores) text << ", or " << rule.ignored << ", which is ignored";
  if (const auto all = std::count_if(wrong, labels.end(), is_wrong); all > 1)
    text << "; " << all << " labels of the batch are none";
  return text.str();
}

std::string wrong_index(const std::vector<float>& values, i64 count) {
  const LabelRule rule{count};
  const auto wrong = std::find_if(values.begin(), values.end(), [&](float value) { return !rule.allows(value); });
  if (wrong == values.end()) return "";
  std::ostringstream text;
  text << "value " << wrong - values.begin() << " is " << *wrong << ", no whole number from 0 to " << count - 1;
  return text.str();
}

LossLayer::LossLayer(const caffe::LayerParameter& parameter, const LayerContext& context) : Layer(parameter, context) {
  if (parameter.loss_param().label_smoothing() != 0 && parameter.type() != "SoftmaxWithLoss")
    bad_config("label_smoothing is known to SoftmaxWithLoss alone", "leave it out");
}

std::vector<int> LossLayer::labels_of(const Blob& labels, i64 classes) const {
  const auto& p = parameter().loss_param();
  const auto values = labels.data_vector();
  const i64 samples = labels.axes() > 0 ? std::max<i64>(1, labels.dim(0)) : 1;
  const std::string wrong = wrong_labels(values, {classes, p.has_ignore_label(), p.ignore_label()},
                                         std::max<i64>(1, labels.count() / samples), run().first_sample(samples));
  if (!wrong.empty()) bad_config(wrong, label_advice);
  return {values.begin(), values.end()};
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
