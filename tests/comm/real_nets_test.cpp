// Data-parallel training with the tree's own layers: n ranks with batch b / n
// against one rank with batch b.
#include <gtest/gtest.h>

#include <algorithm>

#include "comm/exchange/packed_allreduce.h"
#include "layers/all_layers.h"
#include "tests/support/layer_rig.h"
#include "tests/support/mpi_main.h"
#include "tests/support/shared_folder.h"
#include "tests/support/toy_solver.h"

namespace cortado::test::real_nets_test {
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

/// Sequences `from` (T x N x ...) with the blob `cont`, through a recurrent layer to `to`.
std::string recurrent(const std::string& type, const std::string& from, const std::string& to) {
  return "layer { name: 'recurrent' type: '" + type + "' bottom: '" + from + "' bottom: 'cont' top: '" + to +
         "' recurrent_param { num_output: 6 weight_filler { type: 'uniform' min: -0.2 max: 0.2 } } }";
}

/// A loss of what stands at each time of `from`, the samples of the data layer.
std::string loss_of_times(const std::string& from) {
  return "layer { name: 'ip' type: 'InnerProduct' bottom: '" + from + R"(' top: 'ip'
      inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }
    layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' })";
}

/// The blob `cont` of 3 sequences: `blocks` times `times` times, at the first of which they begin.
std::string sequences_begin(int times, int blocks) {
  std::string text =
      "layer { name: 'ones' type: 'DummyData' top: 'begins' top: 'goes_on' dummy_data_param { "
      "shape { dim: 1 dim: 3 } shape { dim: " +
      std::to_string(times - 1) +
      " dim: 3 } data_filler { value: 0 } data_filler { value: 1 } } } "
      "layer { name: 'cont' type: 'Concat' top: 'cont' concat_param { axis: 0 } ";
  for (int i = 0; i < blocks; ++i) text += "bottom: 'begins' bottom: 'goes_on' ";
  return text + "} ";
}

/// The blob `cont` of sequences that always go on.
std::string sequences_go_on(int times, int sequences) {
  return "layer { name: 'cont' type: 'DummyData' top: 'cont' dummy_data_param { shape { dim: " + std::to_string(times) +
         " dim: " + std::to_string(sequences) + " } data_filler { value: 1 } } } ";
}

/// `from` cut into as many parts along one axis, which are joined along the other.
std::string regroup(const std::string& from, const std::string& to, int parts, int cut_axis, int join_axis) {
  std::string slice = "layer { name: 'cut_" + from + "' type: 'Slice' bottom: '" + from +
                      "' slice_param { axis: " + std::to_string(cut_axis) + " } ";
  std::string concat = "layer { name: 'join_" + from + "' type: 'Concat' top: '" + to +
                       "' concat_param { axis: " + std::to_string(join_axis) + " } ";
  for (int i = 0; i < parts; ++i) {
    const std::string part = ": '" + from + "_" + std::to_string(i) + "' ";
    slice += "top" + part;
    concat += "bottom" + part;
  }
  return slice + "} " + concat + "} ";
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
  void compare(const std::string& rest) { compare(rest, rest); }
  void compare(const std::string& rest_of_one, const std::string& rest_of_all) {
    Solver one(solver_of(rates, data(global_batch) + rest_of_one), alone());
    Solver all(solver_of(rates, data(global_batch / job().size()) + rest_of_all), together());
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

/// A batch of a recurrent net holds times: n ranks have n stretches of them.
TEST_P(RealNetsTest, SequencesThatBeginWithEveryBatchEqualOneRank) {
  const int ranks = job().size(), times = global_batch / ranks;
  for (const std::string type : {"LSTM", "RNN"}) {
    SCOPED_TRACE(type);
    const std::string net = recurrent(type, "data", "h") + loss_of_times("h");
    compare(sequences_begin(times, ranks) + net, sequences_begin(times, 1) + net);
  }
}

/// Where states go on from batch to batch, every rank has sequences of its own: n ranks with N each are one rank with n
/// N, whose net here puts side by side what the data have one after another.
TEST_P(RealNetsTest, SequencesOfEveryRankEqualOneRankWithAll) {
  const int ranks = job().size(), times = global_batch / ranks;
  for (const std::string type : {"LSTM", "RNN"}) {
    SCOPED_TRACE(type);
    compare(sequences_go_on(times, 3 * ranks) + regroup("data", "streams", ranks, 0, 1) +
                recurrent(type, "streams", "hs") + regroup("hs", "h", ranks, 1, 0) + loss_of_times("h"),
            sequences_go_on(times, 3) + recurrent(type, "data", "h") + loss_of_times("h"));
  }
}

/// With statistics of every rank's own, neither tests nor snapshots change a run, and it goes on bit for bit.
TEST_P(RealNetsTest, OwnBatchStatisticsSurviveTestsAndSnapshots) {
  const SharedFolder folder;
  const std::string net = data(6) + convolution() + batch_norm("false") + head();
  const auto parameter = [&](int test_interval) {
    return solver_of(rates + ("snapshot_prefix: '" + folder.file("run") + "' test_iter: 3 test_interval: ") +
                         std::to_string(test_interval),
                     net);
  };
  Solver straight(parameter(100), together()), disturbed(parameter(1), together()), resumed(parameter(2), together());
  straight.step(4);
  disturbed.step(2);
  resumed.restore(disturbed.snapshot());
  disturbed.step(2);
  resumed.step(2);
  EXPECT_EQ(parameters_of(disturbed.net()), parameters_of(straight.net()));
  EXPECT_EQ(parameters_of(resumed.net()), parameters_of(straight.net()));
}

/// Each layer's programs have had their lanes checked, and each exchange its copies; here that would only take time.
std::vector<std::string> without_checks() {
  auto names = backend_names();
  const auto only_checks = [](const std::string& name) { return name == "lanes" || name == "late"; };
  if (names.size() > 1) names.erase(std::remove_if(names.begin(), names.end(), only_checks), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Backends, RealNetsTest, ::testing::ValuesIn(without_checks()), backend_name);
}  // namespace
}  // namespace cortado::test::real_nets_test
