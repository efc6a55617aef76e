// One rank updates and hands out weights, as they are or as codes, at every rank count of the suite.
#include "comm/exchange/master_update.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "backends/reference/processor.h"
#include "comm/exchange/packed_allreduce.h"
#include "core/base/error.h"
#include "core/formats/prototxt.h"
#include "core/solver/core_groups.h"
#include "layers/all_layers.h"
#include "programs/reference_all_programs.h"
#include "tests/support/layer_rig.h"
#include "tests/support/mpi_main.h"
#include "tests/support/shared_folder.h"
#include "tests/support/toy_solver.h"

namespace cortado::test::master_update_test {
namespace {
constexpr int global_batch = 60;
constexpr const char* sgd = "base_lr: 0.1 lr_policy: 'fixed' momentum: 0.9 weight_decay: 0.01 ";
/// What rates are made of differs: the first histories, norms of blobs and of all, passes.
constexpr const char* solvers[] = {sgd, "type: 'Adam' base_lr: 0.01 lr_policy: 'fixed' momentum: 0.9 iter_size: 2 ",
                                   "type: 'LARS' base_lr: 2 lr_policy: 'fixed' momentum: 0.9 trust_coefficient: 0.01 "
                                   "clip_gradients: 0.1 "};

class MasterUpdateTest : public ::testing::TestWithParam<std::string> {
 protected:
  static int ranks() { return job().size(); }
  static bool is_master() { return job().rank() == 0; }
  std::unique_ptr<MasterUpdate> master(const std::string& codec) {
    return std::make_unique<MasterUpdate>(team_, group_, find_codec(codec));
  }
  std::unique_ptr<Solver> solver(GradientExchange& exchange, const std::string& text, const std::string& net) {
    static const LayerTable layers = with_toys(all_layers());
    auto options = toy_options(GetParam());
    options.layers = &layers;
    options.replicas = &job().replicas();
    options.exchange = &exchange;
    return std::make_unique<Solver>(solver_of(text, net), options);
  }
  std::unique_ptr<Net> net(int n) {
    NetOptions options;
    options.group = &group_;
    options.layers = toy_options().layers;
    return std::make_unique<Net>(net_of(toy_net(n, 4)), options);
  }
  /// What a code of these makes of them.
  std::vector<float> decoded(const std::string& name, const std::vector<float>& values) {
    const Codec& codec = find_codec(name);
    const auto n = static_cast<i64>(values.size());
    const ClusterMemory memory(group_, values.size() * 4);
    const ClusterMemory code(group_, static_cast<std::size_t>(codec.encoded_bytes(n)));
    group_.copy(memory.get(), values.data(), memory.bytes());
    codec.encode(group_, memory.as<float>(), n, nullptr, code.get());
    codec.decode(group_, code.get(), n, memory.as<float>());
    std::vector<float> made(values.size());
    group_.copy(made.data(), memory.get(), memory.bytes());
    group_.wait();
    return made;
  }

  CoreGroup& group_ = group_of(GetParam());
  JobTeam team_{job().replicas().communicator(), group_};
};

/// Without the running statistic, which comes last and is each rank's own.
std::vector<float> weights_of(const Net& net) {
  auto all = parameters_of(net);
  all.pop_back();
  return all;
}

TEST_P(MasterUpdateTest, TrainsAsPacked) {
  for (const std::string text : solvers) {
    SCOPED_TRACE(text);
    PackedAllreduce all(team_, group_);
    const auto one = master("fp32");
    const auto packed = solver(all, text, toy_net(67, global_batch / ranks()));
    const auto mastered = solver(*one, text, toy_net(67, global_batch / ranks()));
    for (int i = 0; i < 5; ++i) {
      packed->step(1);
      mastered->step(1);
      EXPECT_NEAR(mastered->last_loss(), packed->last_loss(), 1e-6);
    }
    expect_near(weights_of(mastered->net()), weights_of(packed->net()), 1e-6f, 1e-5f);
    expect_agreement(weights_of(mastered->net()));
    EXPECT_EQ(parameters_of(mastered->net()).back(), parameters_of(packed->net()).back())
        << "a statistic is its rank's";
  }
}

TEST_P(MasterUpdateTest, StatisticsStayWithTheirRanks) {
  const std::string text = R"(
    layer { name: 'data' type: 'ToyData' top: 'data' top: 'label' inner_product_param { num_output: 5 }
      dummy_data_param { shape { dim: 4 dim: 3 dim: 6 dim: 5 } } }
    layer { name: 'bn1' type: 'BatchNorm' bottom: 'data' top: 'bn1' }
    layer { name: 'ip1' type: 'InnerProduct' bottom: 'bn1' top: 'ip1'
      inner_product_param { num_output: 7 weight_filler { type: 'xavier' } } }
    layer { name: 'bn2' type: 'BatchNorm' bottom: 'ip1' top: 'ip1' }
    layer { name: 'ip2' type: 'InnerProduct' bottom: 'ip1' top: 'ip2'
      inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }
    layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip2' bottom: 'label' top: 'loss' })";
  PackedAllreduce all(team_, group_);
  const auto one = master("fp32"), coded = master("three_in_one");
  const auto packed = solver(all, sgd, text), mastered = solver(*one, sgd, text), decoded = solver(*coded, sgd, text);
  for (Solver* const each : {packed.get(), mastered.get(), decoded.get()}) each->step(3);
  EXPECT_NEAR(mastered->last_loss(), packed->last_loss(), 1e-5);
  for (std::size_t i = 0; i < packed->net().learnable().size(); ++i) {
    const Net::Learnable &expected = packed->net().learnable()[i], &actual = mastered->net().learnable()[i];
    SCOPED_TRACE("layer '" + expected.layer + "', blob " + std::to_string(expected.index));
    expect_near(actual.blob->data_vector(), expected.blob->data_vector(), 2e-5f, 1e-4f);
    if (!expected.statistic || expected.layer == "bn2") continue;
    EXPECT_EQ(decoded->net().learnable()[i].blob->data_vector(), expected.blob->data_vector())
        << "of data alone: no code touches it";
  }
}

TEST_P(MasterUpdateTest, AllComputeWithWhatTheCodesSay) {
  for (const std::string codec : {"bf16", "three_in_one", "dynamic_tree8", "e4m3"}) {
    SCOPED_TRACE(codec);
    const auto exchange = master(codec);
    const auto solving = solver(*exchange, sgd, toy_net(700, global_batch / ranks()));
    for (int i = 0; i < 3; ++i) {
      solving->step(1);
      auto computing = weights_of(solving->net());
      expect_agreement(computing, "weights");
      exchange->restore_weights(solving->net());
      auto full = weights_of(solving->net());
      computing.pop_back(), full.pop_back();  // the second blob, of one value: not coded
      if (is_master()) {
        EXPECT_EQ(computing, decoded(codec, full));
        EXPECT_NE(computing, full);
      }
      exchange->share_weights(solving->net());
    }
    EXPECT_LT(exchange->message_bytes(), codec == "bf16" ? 4500 : 2000);
  }
}

/// The codes of almost equal weights may differ by a step, so that runs part slowly.
TEST_P(MasterUpdateTest, TrainsWithCodesAsOneRankDoes) {
  for (const std::string codec : {"bf16", "three_in_one", "dynamic_tree8", "e4m3"}) {
    const auto exchange = master(codec);
    MPI_Comm self = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    {
      JobTeam alone(self, group_);
      MasterUpdate own(alone, group_, find_codec(codec));
      auto options = toy_options(GetParam());
      options.exchange = &own;
      Solver expected(solver_of(sgd, toy_net(700, global_batch)), options);
      NoExchange none;
      options.exchange = &none;
      Solver exact(solver_of(sgd, toy_net(700, global_batch)), options);
      const auto together = solver(*exchange, sgd, toy_net(700, global_batch / ranks()));
      for (int i = 0; i < 8; ++i) {
        expected.step(1);
        exact.step(1);
        together->step(1);
        EXPECT_NEAR(together->last_loss(), expected.last_loss(), 1e-4 * expected.last_loss()) << codec;
      }
      EXPECT_NEAR(together->last_loss(), exact.last_loss(), 0.01 * exact.last_loss()) << codec;
    }
    MPI_Comm_free(&self);
  }
}

TEST_P(MasterUpdateTest, WhatACodecCannotHoldTravelsAsItIs) {
  const auto made = net(700);
  const auto first_blob = [&] { return made->learnable()[0].blob->data_vector(); };
  const auto give = [&](MasterUpdate& exchange, float value) {
    std::vector<float> weights = noise_vector(3, 700);
    weights[77] = value;
    if (!is_master()) weights.assign(700, -1);
    exchange.restore_weights(*made);
    made->learnable()[0].blob->write_data(weights.data());
    exchange.share_weights(*made);
    weights = noise_vector(3, 700);
    weights[77] = value;
    return weights;
  };
  for (const std::string codec : {"three_in_one", "bf16"}) {
    const auto exchange = master(codec);
    exchange->share_weights(*made);
    give(*exchange, 0);
    const i64 coded = exchange->message_bytes();
    const float small = 1.75f, large = codec == "bf16" ? std::numeric_limits<float>::infinity() : -2.0f;
    const auto uncoded = give(*exchange, large);
    EXPECT_EQ(first_blob(), uncoded) << codec;
    EXPECT_GT(exchange->message_bytes(), coded);
    const auto weights = give(*exchange, small);
    EXPECT_EQ(first_blob(), decoded(codec, weights)) << "codes again";
    EXPECT_EQ(exchange->message_bytes(), coded);
    give(*exchange, std::numeric_limits<float>::quiet_NaN());
    EXPECT_TRUE(std::isnan(first_blob()[77])) << codec << " hides a NaN";
    EXPECT_EQ(first_blob()[76], weights[76]);
  }
}

TEST_P(MasterUpdateTest, GoesOnBitForBitFromTheMastersState) {
  for (const std::string codec : {"fp32", "three_in_one"}) {
    const SharedFolder folder;
    const std::string text = sgd + ("snapshot_prefix: '" + folder.file("toy") + "'"), toy = toy_net(700, 4);
    const auto exchange = master(codec), other = master(codec), more = master("fp32");
    const auto straight = solver(*exchange, text, toy);
    straight->step(4);
    const std::string state = straight->snapshot();
    straight->step(4);
    const auto resumed = solver(*other, text, toy), exact = solver(*more, text, toy);
    resumed->restore(state);
    exact->restore(state);
    other->restore_weights(resumed->net());
    if (is_master()) {
      EXPECT_EQ(parameters_of(resumed->net()), parameters_of(exact->net())) << "snapshots hold weights in full";
    }
    other->share_weights(resumed->net());
    resumed->step(4);
    EXPECT_EQ(parameters_of(resumed->net()), parameters_of(straight->net())) << codec;
    EXPECT_EQ(resumed->last_loss(), straight->last_loss());
  }
}

TEST_P(MasterUpdateTest, LoadsWeightsInFull) {
  const SharedFolder folder;
  const auto exchange = master("three_in_one"), other = master("three_in_one"), more = master("fp32");
  const auto untouched = solver(*exchange, sgd, toy_net(700, 4));
  const auto fresh = solver(*more, sgd, toy_net(700, 4));
  caffe::NetParameter full;
  fresh->net().to_proto(full);
  if (is_master()) write_binary(folder.file("full"), full);
  untouched->load_weights(folder.file("full"));
  exchange->restore_weights(untouched->net());
  if (is_master()) { EXPECT_EQ(parameters_of(untouched->net()), parameters_of(fresh->net())); }
}

TEST_P(MasterUpdateTest, CodesOfGradientsAreRefused) {
  for (const char* codec : {"one_bit", "threshold"}) {
    try {
      master(codec);
      FAIL() << codec << " was taken";
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find(std::string("codec '") + codec + "': cannot code weights"),
                std::string::npos)
          << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, MasterUpdateTest, ::testing::ValuesIn(job_backends(3)), backend_name);

/// Core group 0 of rank 0 is the master of all core groups of all ranks.
TEST(MasterUpdateOfCoreGroups, TrainsAsPacked) {
  for (const int groups : job().size() <= 3 ? std::vector<int>{2, 3, 4} : std::vector<int>{2}) {
    reference::Options with;
    with.core_groups = groups;
    const auto processor = reference::make_processor(with, reference::all_programs());
    CoreGroup& group = processor->group(0);
    JobTeam team(job().replicas().communicator(), group);
    const auto train = [&](GradientExchange& exchange, std::vector<std::vector<float>>& weights) {
      auto options = toy_options();
      options.group = &group;
      options.replicas = &job().replicas();
      options.exchange = &exchange;
      weights.resize(static_cast<std::size_t>(groups));
      double loss = 0;
      train_on_core_groups(*processor, options, [&](const SolverOptions& own) {
        Solver solver(solver_of(sgd, toy_net(300, 4)), own);
        solver.step(3);
        weights[static_cast<std::size_t>(own.group->index())] = weights_of(solver.net());
        if (own.group->index() == 0) loss = solver.last_loss();
      });
      return loss;
    };
    PackedAllreduce all(team, group);
    MasterUpdate one(team, group, find_codec("fp32")), coded(team, group, find_codec("three_in_one"));
    std::vector<std::vector<float>> packed, mastered, decoded;
    const double loss = train(all, packed);
    EXPECT_NEAR(train(one, mastered), loss, 1e-6);
    EXPECT_NEAR(train(coded, decoded), loss, 0.01 * loss);
    for (std::size_t g = 0; g < packed.size(); ++g) {
      expect_near(mastered[g], packed[g], 1e-6f, 1e-5f);
      EXPECT_EQ(decoded[g], decoded[0]);
      expect_agreement(mastered[g], "weights");
      expect_agreement(decoded[g], "decoded weights");
    }
  }
}

}  // namespace
}  // namespace cortado::test::master_update_test
