#pragma once
#include <vector>

#include "core/formats/caffe.pb.h"
#include "core/net/layer.h"

namespace cortado {

/// The common part of losses: one value that compares scores or features with their targets. The first top weighs 1 in
/// the objective.
class LossLayer : public Layer {
 public:
  /// Throws ConfigError for label_smoothing where the type does not know it.
  LossLayer(const caffe::LayerParameter& parameter, const LayerContext& context);
  Arity bottoms() const override { return {2, 2}; }
  bool is_loss() const override { return true; }
  bool allows_backward_to(std::size_t i) const override { return i == 0; }

 protected:
  /// The labels of a batch, whole numbers in [0, classes) or the ignored one. Waits for the cluster. Throws ConfigError
  /// for others.
  std::vector<int> labels_of(const Blob& labels, i64 classes) const;
  /// The number of samples, which have any number of scores and one label each. Throws ShapeError otherwise.
  i64 check_labelled_rows(const Blob& scores, const Blob& labels) const;
  /// Throws ConfigError if labels are to get a gradient.
  void check_labels_get_no_gradient(const std::vector<bool>& propagate_down) const;

  /// Caffe's loss_param: the divisor of the sum over positions. `otherwise` is the layer's own default.
  caffe::LossParameter::NormalizationMode normalisation(caffe::LossParameter::NormalizationMode otherwise) const;
  /// The value of that divisor, for a batch of `samples` samples and `positions` positions; `counted` of them have
  /// labels that are not ignored. With several ranks VALID means the labels of all ranks, and NONE multiplies by their
  /// number. So the mean over ranks of losses and gradients is that of one rank with all samples. Collective where
  /// labels are ignored.
  float divisor(caffe::LossParameter::NormalizationMode mode, i64 samples, i64 positions, double counted) const;
};

/// The sums over lines of `kinds` values each, in order, so that runs agree bit for bit. Waits for the cluster.
std::vector<double> sum_over_lines(CoreGroup& group, const float* partial, i64 lines, i64 kinds);

}  // namespace cortado
