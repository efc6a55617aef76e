// Layers divided over ranks train as undivided ones do, at every rank count of the suite.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "comm/exchange/bucket_allreduce.h"
#include "comm/exchange/coded_allreduce.h"
#include "comm/exchange/packed_allreduce.h"
#include "comm/mpi_shard_exchange.h"
#include "core/base/error.h"
#include "layers/all_layers.h"
#include "layers/inner_product/divided_rows.h"
#include "parallel_io/weights/hdf5_weights.h"
#include "tests/support/layer_rig.h"
#include "tests/support/mpi_main.h"
#include "tests/support/shared_folder.h"
#include "tests/support/toy_solver.h"

namespace cortado::test::divided_layers_test {
namespace {
constexpr const char* common = "lr_policy: 'fixed' momentum: 0.9 weight_decay: 0.01 random_seed: 5 ";
constexpr const char* rates = "lr_policy: 'fixed' momentum: 0.9 weight_decay: 0.01 random_seed: 5 base_lr: 0.05 ";
constexpr const char* tested = "test_interval: 100 test_compute_loss: true ";

std::string inner_product_layer(const std::string& name, const std::string& bottom, int outputs,
                                const std::string& more, const std::string& layer = "") {
  return "layer { name: '" + name + "' type: 'InnerProduct' bottom: '" + bottom + "' top: '" + name + "' " + layer +
         " inner_product_param { num_output: " + std::to_string(outputs) +
         " weight_filler { type: 'xavier' } bias_filler { type: 'constant' value: 0.1 } " + more + " } }";
}

/// A convolution, which stays parallel over data, and three products of which the first two are divided. No number of
/// inputs or outputs is a multiple of 2, 3, 4 or 5 at once.
std::string net_of(int batch, const std::string& first, const std::string& second) {
  return "layer { name: 'data' type: 'ToyData' top: 'data' top: 'label' inner_product_param { num_output: 5 } "
         "dummy_data_param { shape { dim: " +
         std::to_string(batch) +
         " dim: 2 dim: 5 dim: 3 } } }"
         "layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' convolution_param { num_output: 3 "
         "kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }" +
         inner_product_layer("ip1", "conv", 11, first) +
         "layer { name: 'relu' type: 'ReLU' bottom: 'ip1' top: 'ip1' }"
         "layer { name: 'drop' type: 'Dropout' bottom: 'ip1' top: 'ip1' dropout_param { dropout_ratio: 0.4 } }" +
         inner_product_layer("ip2", "ip1", 7, second) + inner_product_layer("ip3", "ip2", 5, "") +
         "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip3' bottom: 'label' top: 'loss' }";
}

std::string divided(const std::string& by, int sub_batches, const std::string& codec = "fp32") {
  return "divided: " + by + " sub_batches: " + std::to_string(sub_batches) + " codec: '" + codec + "' ";
}

/// A job of some ranks: what a solver needs of them.
struct Ranks {
  Ranks(MPI_Comm communicator, const std::string& backend)
      : replicas(communicator),
        team(communicator, group_of(backend)),
        packed(team, group_of(backend)),
        shards(communicator, group_of(backend)) {}
  SolverOptions options(const std::string& backend) {
    static const LayerTable layers = with_toys(all_layers());
    static const Hdf5Weights hdf5;
    auto options = toy_options(backend);
    options.layers = &layers;
    options.hdf5 = &hdf5;
    options.replicas = &replicas;
    options.exchange = &packed;
    options.shards = &shards;
    return options;
  }
  MpiReplicas replicas;
  JobTeam team;
  PackedAllreduce packed;
  MpiShardExchange shards;
};

class DividedLayersTest : public ::testing::TestWithParam<std::string> {
 protected:
  static int size() { return job().size(); }
  SolverOptions options() { return ranks_.options(GetParam()); }
  std::unique_ptr<Solver> solver(const std::string& net, const std::string& text = rates) {
    return std::make_unique<Solver>(solver_of(text, net), options());
  }
  /// All values, of parts the whole, on rank 0.
  std::vector<float> whole(Solver& of) const { return whole(of, ranks_); }
  static std::vector<float> whole(Solver& of, const Ranks& ranks) {
    caffe::NetParameter net;
    of.net().to_proto(net);
    of.net().collect_shards(net);
    std::vector<float> all;
    if (ranks.replicas.rank() != 0) return all;
    for (const auto& layer : net.layer())
      for (const auto& blob : layer.blobs()) all.insert(all.end(), blob.data().begin(), blob.data().end());
    return all;
  }
  /// Trains both nets and compares losses and weights.
  void compare(const std::string& net, const std::string& expected, const std::string& text = rates) {
    const auto undivided = solver(expected, text), apart = solver(net, text);
    EXPECT_EQ(whole(*apart), whole(*undivided)) << "the same weights to begin with";
    for (int i = 0; i < 3; ++i) {
      undivided->step(1);
      apart->step(1);
      EXPECT_NEAR(apart->last_loss(), undivided->last_loss(), 2e-5) << "iteration " << i;
    }
    expect_near(whole(*apart), whole(*undivided), 2e-5f, 1e-4f);
  }
  /// The message of the ConfigError that building the net throws on every rank.
  std::string refusal(const std::string& net, SolverOptions with) const {
    try {
      const Solver never(solver_of(rates, net), with);
    } catch (const ConfigError& error) { return error.what(); }
    return "";
  }
  std::string refusal(const std::string& net) { return refusal(net, options()); }

  Ranks ranks_{job().replicas().communicator(), GetParam()};
};

TEST_P(DividedLayersTest, TrainLikeUndividedOnes) {
  for (const int k : {1, 2, 3})
    for (const std::string by : {"OUTPUTS", "INPUTS"}) {
      SCOPED_TRACE(by + " in " + std::to_string(k) + " sub-batches");
      const std::string other = by == "INPUTS" ? "OUTPUTS" : "INPUTS";
      compare(net_of(5, divided(by, k), divided(other, 4 - k)), net_of(5, "", ""));
    }
}

TEST_P(DividedLayersTest, WhateverTheirShape) {
  struct Case {
    int batch;
    std::string shape;
  };
  for (const auto& c : {Case{1, ""}, Case{4, "bias_term: false "}, Case{3, "transpose: true "}})
    for (const std::string by : {"OUTPUTS", "INPUTS"}) {
      SCOPED_TRACE(by + " " + c.shape);
      compare(net_of(c.batch, c.shape + divided(by, 2), c.shape + divided(by, 9)), net_of(c.batch, c.shape, c.shape));
    }
}

TEST_P(DividedLayersTest, FirstInANetAndNotLearning) {
  const auto net = [](const std::string& more) {
    return "layer { name: 'data' type: 'ToyData' top: 'data' top: 'label' inner_product_param { num_output: 5 } "
           "dummy_data_param { shape { dim: 3 dim: 13 } } }" +
           inner_product_layer("ip1", "data", 9, more) +
           inner_product_layer("ip2", "ip1", 6, more, "param { lr_mult: 0 }") +
           inner_product_layer("ip3", "ip2", 5, more) +
           "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip3' bottom: 'label' top: 'loss' }";
  };
  for (const std::string by : {"OUTPUTS", "INPUTS"}) compare(net(divided(by, 2)), net(""));
}

TEST_P(DividedLayersTest, WithEverySolver) {
  const std::string apart = net_of(3, divided("OUTPUTS", 2), divided("INPUTS", 1)), undivided = net_of(3, "", "");
  for (const std::string more :
       {"base_lr: 0.05 clip_gradients: 0.2 ", "base_lr: 0.05 iter_size: 2 clip_gradients: 0.1 loss_scale: 8 ",
        "type: 'Adam' momentum2: 0.99 base_lr: 0.001 ", "type: 'LARS' base_lr: 5 ", "type: 'LAMB' base_lr: 0.01 "}) {
    SCOPED_TRACE(more);
    compare(apart, undivided, common + more);
  }
}

TEST_P(DividedLayersTest, WithEveryExchangeOfGradients) {
  const std::string apart = net_of(3, divided("OUTPUTS", 2), divided("INPUTS", 3));
  const auto expected = solver(net_of(3, "", ""));
  BucketAllreduce buckets(job().replicas().communicator(), group_of(GetParam()), {}, {}, "auto");
  CodedAllreduce once(ranks_.team, group_of(GetParam()), find_codec("fp32"), CodedAllreduce::Way::once);
  CodedAllreduce ring(ranks_.team, group_of(GetParam()), find_codec("fp32"), CodedAllreduce::Way::hops);
  std::vector<std::unique_ptr<Solver>> solvers;
  for (GradientExchange* exchange : {static_cast<GradientExchange*>(&buckets), static_cast<GradientExchange*>(&once),
                                     static_cast<GradientExchange*>(&ring)}) {
    auto with = options();
    with.exchange = exchange;
    solvers.push_back(std::make_unique<Solver>(solver_of(rates, apart), with));
  }
  for (int i = 0; i < 3; ++i) {
    expected->step(1);
    for (const auto& one : solvers) {
      one->step(1);
      EXPECT_NEAR(one->last_loss(), expected->last_loss(), 2e-5);
    }
  }
}

TEST_P(DividedLayersTest, TestAsOneRank) {
  const std::string apart = net_of(2, divided("OUTPUTS", 2), divided("INPUTS", 1)), undivided = net_of(2, "", "");
  for (const int passes : {1, 3, 4}) {
    const std::string more = std::string(rates) + tested + ("test_iter: " + std::to_string(passes));
    const auto expected = solver(undivided, more), made = solver(apart, more);
    expected->step(2);
    made->step(2);
    expected->test();
    made->test();
    made->step(1);  // ranks still agree on whose turn it is
    EXPECT_NEAR(made->scores()[0][0].value, expected->scores()[0][0].value, 2e-5);
  }
}

TEST_P(DividedLayersTest, ResumeBitForBit) {
  const SharedFolder folder;
  for (const std::string format : {"", "snapshot_format: HDF5 snapshot_diff: true "}) {
    const std::string more = std::string(rates) + "snapshot_prefix: '" + folder.file("net") + "' " + format;
    const std::string apart = net_of(3, divided("OUTPUTS", 2), divided("INPUTS", 1, "dynamic_tree8"));
    const auto straight = solver(apart, more);
    straight->step(3);
    const std::string state = straight->snapshot();
    straight->step(3);
    const auto resumed = solver(apart, more);
    resumed->restore(state);
    resumed->step(3);
    EXPECT_EQ(whole(*resumed), whole(*straight));
    EXPECT_EQ(resumed->last_loss(), straight->last_loss());
  }
}

TEST_P(DividedLayersTest, SnapshotsAreWhole) {
  const SharedFolder folder;
  const std::string more =
      std::string(rates) + "snapshot_prefix: '" + folder.file("net") + "' type: 'Adam' momentum2: 0.99 ";
  const std::string apart = net_of(3, divided("OUTPUTS", 2), divided("INPUTS", 1)), undivided = net_of(3, "", "");
  const auto first = solver(apart, more);
  first->step(2);
  const std::string state = first->snapshot();
  const auto weights = whole(*first);
  // Undivided, and back.
  const auto second = solver(undivided, more), third = solver(apart, more);
  second->restore(state);
  EXPECT_EQ(whole(*second), weights);
  second->step(2);
  second->snapshot();
  third->restore(state);
  third->step(2);
  expect_near(whole(*third), whole(*second), 2e-5f, 1e-4f);
  // On fewer ranks: all but the last one, and that one alone.
  MPI_Comm some = MPI_COMM_NULL;
  MPI_Comm_split(job().replicas().communicator(), job().rank() < std::max(1, size() - 1) ? 0 : 1, job().rank(), &some);
  {
    Ranks fewer(some, GetParam());
    const auto parameter = solver_of(more, apart), same = solver_of(more, undivided);
    Solver few(parameter, fewer.options(GetParam())), expected(same, fewer.options(GetParam()));
    few.restore(state);
    const auto restored = whole(few, fewer);
    EXPECT_EQ(restored, job().rank() == 0 ? weights : restored);
    expected.restore(state);
    few.step(2);
    expected.step(2);
    expect_near(whole(few, fewer), whole(expected, fewer), 2e-5f, 1e-4f);
  }
  MPI_Comm_free(&some);
}

TEST_P(DividedLayersTest, LearnWithEveryCodec) {
  // To give back what comes in.
  const auto net = [](const std::string& first, const std::string& second) {
    return "layer { name: 'data' type: 'ToyData' top: 'data' top: 'label' inner_product_param { num_output: 5 } "
           "dummy_data_param { shape { dim: 12 dim: 6 } } }" +
           inner_product_layer("ip1", "data", 11, first) + inner_product_layer("ip2", "ip1", 6, second) +
           "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'ip2' bottom: 'data' top: 'loss' }";
  };
  const auto exact = solver(net("", ""));
  std::vector<double> losses;
  for (int i = 0; i < 12; ++i) {
    exact->step(1);
    losses.push_back(exact->last_loss());
  }
  ASSERT_LT(losses.back(), 0.6 * losses[0]);
  for (const Codec* const codec : codecs()) {
    if (codec->needs_state() || std::isfinite(codec->limit())) continue;
    const auto coded = solver(net(divided("OUTPUTS", 1, codec->name()), divided("INPUTS", 1, codec->name())));
    const std::size_t iterations = codec->name() == "dynamic_tree8" ? losses.size() : 3;
    for (std::size_t i = 0; i < iterations; ++i) {
      coded->step(1);
      EXPECT_NEAR(coded->last_loss(), losses[i], 0.03 * losses[0]) << codec->name();
    }
    if (size() > 1 && codec->name() != "fp32") {
      EXPECT_NE(coded->last_loss(), losses[iterations - 1]) << codec->name();
    }
  }
}

TEST_P(DividedLayersTest, WhatCannotRunSaysSo) {
  const auto expect = [&](const std::string& message, const std::string& net) {
    EXPECT_NE(refusal(net).find(message), std::string::npos) << refusal(net);
    EXPECT_NE(refusal(net).find("layer 'ip"), std::string::npos) << refusal(net);
  };
  expect("codec 'eight' is not known", net_of(3, divided("OUTPUTS", 1, "eight"), ""));
  expect("codec 'one_bit'", net_of(3, divided("INPUTS", 1, "one_bit"), ""));
  expect("sizes below 2", net_of(3, divided("INPUTS", 1, "three_in_one"), ""));
  expect("sub_batches", net_of(3, divided("INPUTS", 0), ""));
  struct ManyGroups : MpiReplicas {
    using MpiReplicas::MpiReplicas;
    int groups_of_process() const override { return 2; }
  };
  const ManyGroups groups(job().replicas().communicator());
  auto with = options();
  with.replicas = &groups;
  const std::string message = refusal(net_of(3, divided("INPUTS", 1), ""), with);
  EXPECT_NE(message.find("several core groups"), std::string::npos) << message;
  if (size() == 1) return;
  struct MasterOnly : NoExchange {
    bool has_master() const override { return true; }
  };
  MasterOnly master;
  with = options();
  with.exchange = &master;
  const std::string without_master = refusal(net_of(3, divided("INPUTS", 1), ""), with);
  EXPECT_NE(without_master.find("lets rank 0 alone update"), std::string::npos) << without_master;
  const std::string data =
      "layer { name: 'data' type: 'ToyData' top: 'data' top: 'label' inner_product_param { num_output: 2 } "
      "dummy_data_param { shape { dim: 3 dim: 2 } } }";
  const std::string by_outputs = divided("OUTPUTS", 1);
  expect("1 outputs are fewer than", data + inner_product_layer("ip1", "data", 1, by_outputs));
  expect("1 inputs are fewer than",
         data + inner_product_layer("ip0", "data", 1, "") + inner_product_layer("ip1", "ip0", 9, divided("INPUTS", 1)));
  expect("parameter 'w'", data + inner_product_layer("ip1", "data", 6, by_outputs, "param { name: 'w' }"));
  expect("layer 'chosen'", data + "layer { name: 'chosen' type: 'Filter' bottom: 'data' bottom: 'label' top: 'kept' }" +
                               inner_product_layer("ip1", "kept", 6, by_outputs));
}

/// One of two ranks, whose messages bring nothing, and what happens when: s(tart), f(inish).
class Recorder : public ShardExchange {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  std::string why_not(const std::string& /*codec*/) const override { return ""; }
  i64 start(const std::string& /*codec*/, const std::vector<Outgoing>& /*out*/,
            const std::vector<Incoming>& /*in*/) override {
    happened += 's';
    return 0;
  }
  void finish(i64 /*exchange*/) override { happened += 'f'; }
  std::vector<float> gather(const std::vector<float>& own, const std::vector<i64>& /*counts*/) const override {
    return own;
  }
  std::vector<float> scatter(const std::vector<float>& all, const std::vector<i64>& /*counts*/) const override {
    return all;
  }
  std::string happened;
};

TEST(DividedRowsTest, MessagesTravelDuringProducts) {
  CoreGroup& group = group_of("reference");
  Workspace workspace(group);
  Recorder ranks;
  const Division division({4, 6}, 0, 2);
  DividedRows rows(ranks, group, workspace, division, {6, 4, false, 3, "fp32"});
  rows.reshape(5);
  Blob x(group, {5, 6}), y(group, {5, 4});
  const auto product = [&](const float*, const float*, i64) { ranks.happened += 'm'; };
  rows.forward(x.data(), y.mutable_data(), product);
  // During a product the next sub-batch's inputs and the last ones' outputs are under way.
  EXPECT_EQ(ranks.happened, "ssfmssfmsfmsfff");
  ranks.happened.clear();
  const auto gradient = [&](const float*, const float*, i64) { ranks.happened += 'g'; };
  rows.backward(y.diff(), x.mutable_diff(), product, gradient);
  EXPECT_EQ(ranks.happened, "ssfmssfmsfmsgfff");
  ranks.happened.clear();
  rows.backward(y.diff(), nullptr, product, gradient);
  EXPECT_EQ(ranks.happened, "ssfgsfgfg") << "without errors to send, gradients hide the errors that come";
}

/// What the checking backends look at too: whether programs touch what they may.
class DividedLayersCheckedTest : public DividedLayersTest {};

TEST_P(DividedLayersCheckedTest, TrainLikeUndividedOnes) {
  compare(net_of(3, divided("OUTPUTS", 2), divided("INPUTS", 2)), net_of(3, "", ""));
}

/// The build's own, and the one whose copies are late.
std::vector<std::string> own_backends() {
  std::vector<std::string> names{"reference"};
  for (const auto& name : backend_names())
    if (name != "reference" && name != "lanes" && name != "late") names = {name};
  if (configured("backend") == "late") return {"late"};
  if (job().size() == 2 && configured("backend").empty()) names.emplace_back("late");
  return names;
}

INSTANTIATE_TEST_SUITE_P(Backends, DividedLayersTest, ::testing::ValuesIn(own_backends()), backend_name);
INSTANTIATE_TEST_SUITE_P(Backends, DividedLayersCheckedTest, ::testing::ValuesIn(job_backends()), backend_name);

}  // namespace
}  // namespace cortado::test::divided_layers_test
