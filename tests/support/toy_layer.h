#pragma once
#include <string>
#include <vector>

#include "core/net/layer_table.h"

namespace cortado::test {

/// A whole model in one layer, for tests of solvers that should not wait for real layers: fits weights w[n] and a bias
/// b to noise under a random mask, in plain loops on the host.
///   loss = 1 / (batch n)  sum over samples s, elements j of  1/2 (m_sj w_j + b - t_sj)^2
/// Targets t and masks m are functions of the global sample number, as data and dropout are. Takes no bottom; tops are
/// the loss and (optionally) a score, the mean of the batch's targets. Blobs: w, b, and a running statistic,
/// statistic = 0.9 statistic + score, in training only.
/// inner_product_param: num_output is n, axis is the batch. threshold_param.threshold: if set, targets of samples from
/// that number on are NaN.
class ToyLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {0, 0}; }
  Arity tops() const override { return {1, 2}; }
  bool is_loss() const override { return true; }
  bool is_statistic(std::size_t i) const override { return i == 2; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;

 private:
  i64 n() const;
  i64 batch() const;
  float target(i64 sample, i64 j) const;
  float mask(i64 sample, i64 j) const;
  float error(const std::vector<float>& w, float b, i64 sample, i64 j) const;
};

/// Samples for real layers that are functions of the global sample number: top 0 is noise in the shape of
/// dummy_data_param.shape (batch first), top 1 the labels 0 .. inner_product_param.num_output - 1.
class ToyDataLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {0, 0}; }
  Arity tops() const override { return {2, 2}; }
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& /*top*/, const std::vector<bool>& /*down*/, const Blobs& /*bottom*/) override {}
};

/// `table` with the layer types "Toy" and "ToyData" added.
LayerTable with_toys(LayerTable table);

/// A net "toy" of one such layer, with tops "loss" and "score"; `more` goes into the layer, say `param { ... }`.
std::string toy_net(int n, int batch, const std::string& more = "");

}  // namespace cortado::test
