// Data-parallel training with the tree's own layers: n ranks with batch b / n
// against one rank with batch b.
#include <gtest/gtest.h>

#include <algorithm>

#include "comm/exchange/packed_allreduce.h"
#include "layers/all_layers.h"
#include "tests/support/layer_rig.h"
#include "tests/support/mpi_main.h"
#include "tests/support/toy_solver.h"

namespace cortado::test {
namespace {
constexpr int global_batch = 60;  // 1 to 5 ranks divide it
constexpr const char* rates =
    "base_lr: 0.05 lr_policy: 'fixed' momentum: 0.9 "
    "weight_decay: 0.001 random_seed: 5 ";

std::string data(int batch) {
  return "layer { name: 'data' type: 'ToyData' top: 'data' top: 'label' "
         "inner_product_param { num_output: 5 } "
         "dummy_data_param { shape { dim: " +
         std::to_string(batch) + " dim: 3 dim: 9 dim: 7 } } }";
}

std::string convolution() {
  return R"(layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' convolution_param {
    num_output: 6 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } bias_filler { type: 'constant' value: 0.1 } } })";
}

std::string batch_norm(const std::string& synchronised) {
  return "layer { name: 'bn' type: 'BatchNorm' bottom: 'conv' top: 'conv' "
         "batch_norm_param { synchronised: " +
         synchronised +
         " } } layer { name: 'scale' type: 'Scale' bottom: 'conv' top: 'conv' "
         "scale_param { bias_term: true } }";
}

std::string head(const std::string& loss = "") {
  return R"(
    layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' }
    layer { name: 'pool' type: 'Pooling' bottom: 'conv' top: 'pool' pooling_param { pool: MAX kernel_size: 3 stride: 2 } }
    layer { name: 'ip1' type: 'InnerProduct' bottom: 'pool' top: 'ip1'
      inner_product_param { num_output: 11 weight_filler { type: 'xavier' } } }
    layer { name: 'drop' type: 'Dropout' bottom: 'ip1' top: 'ip1' dropout_param { dropout_ratio: 0.4 } }
    layer { name: 'ip2' type: 'InnerProduct' bottom: 'ip1' top: 'ip2'
      inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }
    layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip2' bottom: 'label' top: 'loss' )" +
         loss + " }";
}

class RealNetsTest : public ::testing::TestWithParam<std::string> {
 protected:
  SolverOptions alone() const {
    static const LayerTable layers = with_toys(all_layers());
    auto options = toy_options(GetParam());
    options.layers = &layers;
    return options;
  }
  SolverOptions together() {
    auto options = alone();
    options.replicas = &job().replicas();
    options.exchange = &exchange_;
    return options;
  }
  /// Trains `rest` behind the data layer both ways and compares losses, weights
  /// and running statistics.
  void compare(const std::string& rest) {
    Solver one(solver_of(rates, data(global_batch) + rest), alone());
    Solver all(solver_of(rates, data(global_batch / job().size()) + rest), together());
    for (int i = 0; i < 4; ++i) {
      one.step(1);
      all.step(1);
      EXPECT_NEAR(all.last_loss(), one.last_loss(), 1e-4) << "iteration " << i;
    }
    for (std::size_t i = 0; i < one.net().learnable().size(); ++i) {
      const Net::Learnable &expected = one.net().learnable()[i], &actual = all.net().learnable()[i];
      SCOPED_TRACE("layer '" + expected.layer + "', blob " + std::to_string(expected.index));
      expect_near(actual.blob->data_vector(), expected.blob->data_vector(), 2e-5f, 1e-4f);
    }
  }
  JobTeam team_{job().replicas().communicator(), group_of(GetParam())};
  PackedAllreduce exchange_{team_, group_of(GetParam())};
};

TEST_P(RealNetsTest, EqualOneRankWithTheWholeBatch) { compare(convolution() + head()); }

TEST_P(RealNetsTest, CountValidLabelsOverAllRanks) {
  for (const std::string normalization : {"VALID", "FULL", "BATCH_SIZE", "NONE"}) {
    SCOPED_TRACE(normalization);
    const std::string weight = normalization == "NONE" ? "loss_weight: 0.02 " : "";
    compare(convolution() + head(weight + "loss_param { ignore_label: 3 normalization: " + normalization + " }"));
  }
}

TEST_P(RealNetsTest, SynchronisedBatchStatisticsEqualOneRank) { compare(convolution() + batch_norm("true") + head()); }

TEST_P(RealNetsTest, OwnBatchStatisticsAgreeAfterTests) {
  const std::string net = data(global_batch / job().size()) + convolution() + batch_norm("false") + head();
  Solver solver(solver_of(rates + std::string("test_iter: 2 test_interval: 100"), net), together());
  solver.step(3);
  solver.test();
  expect_agreement(parameters_of(solver.net()), "weights and running statistics");
}

/// Each layer's programs have had their lanes checked; here that would only
/// take time.
std::vector<std::string> without_lanes() {
  auto names = backend_names();
  names.erase(std::remove(names.begin(), names.end(), "lanes"), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Backends, RealNetsTest, ::testing::ValuesIn(without_lanes()), backend_name);
}  // namespace
}  // namespace cortado::test
