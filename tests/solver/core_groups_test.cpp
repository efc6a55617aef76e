// Core groups of a process that share its batch train as one that has all of it.
#include "core/solver/core_groups.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "app/session/backend.h"
#include "backends/reference/processor.h"
#include "core/base/error.h"
#include "core/solver/shared_addition.h"
#include "layers/all_layers.h"
#include "programs/reference_all_programs.h"
#include "tests/support/layer_rig.h"
#include "tests/support/toy_solver.h"

namespace cortado::test::core_groups_test {
namespace {
/// Solver types; LARS makes its rates of norms, which must be the same on all.
constexpr const char* types[] = {
    "base_lr: 0.1 lr_policy: 'inv' gamma: 0.1 power: 0.5 momentum: 0.9 weight_decay: 0.01 ",
    "type: 'LARS' base_lr: 2 lr_policy: 'fixed' momentum: 0.9 weight_decay: 0.01 trust_coefficient: 0.01 warmup_iter: "
    "3 ",
};
constexpr i64 batch = 60;

/// The backend of this build, the serial one, or the one whose copies are late, with that many core groups.
std::unique_ptr<Processor> processor_of(const std::string& backend, int core_groups) {
  if (backend == "built") {
    BackendOptions options;
    options.core_groups = core_groups;
    return make_processor(options);
  }
  reference::Options options = backend == "late" ? late_options() : reference::Options();
  options.core_groups = core_groups;
  return reference::make_processor(options, reference::all_programs());
}

class CoreGroupsTest : public ::testing::TestWithParam<std::string> {
 protected:
  /// Kokkos is started once, with two threads here, and every core group needs one.
  static int most_groups() {
    return GetParam() == "built" && make_processor()->group(0).spec().name == "openmp" ? 2 : 6;
  }
};

/// All but the last value: the running statistic of batches of another size.
std::vector<float> weights_of(const Net& net) {
  auto all = parameters_of(net);
  all.pop_back();
  return all;
}

void share_a_batch(const std::string& backend, const std::string& rates, int most_groups) {
  Solver alone(solver_of(rates, toy_net(67, batch)), toy_options());
  alone.step(5);
  for (const bool host_sums : {false, true})
    for (const int groups : {1, 2, 3, 4, 6}) {
      if (groups > most_groups) break;
      SCOPED_TRACE(rates + std::to_string(groups) + (host_sums ? " by host sums" : ""));
      const auto processor = processor_of(backend, groups);
      SolverOptions options = toy_options();
      options.group = &processor->group(0);
      options.host_sums = host_sums;
      const auto parameter = solver_of(rates, toy_net(67, batch / groups));  // a toy's batch is not of a data layer
      std::vector<std::vector<float>> weights(static_cast<std::size_t>(groups));
      std::vector<double> losses(static_cast<std::size_t>(groups));
      train_on_core_groups(*processor, options, [&](const SolverOptions& own) {
        Solver solver(parameter, own);
        solver.step(5);
        const auto index = static_cast<std::size_t>(own.group->index());
        weights[index] = weights_of(solver.net());
        losses[index] = solver.last_loss();
        if (groups > 1) {
          EXPECT_EQ(own.replicas->size(), groups);
          EXPECT_EQ(own.replicas->rank(), own.group->index());
        }
      });
      expect_near(weights[0], weights_of(alone.net()), 1e-6f, 1e-5f);
      for (const auto& others : weights) EXPECT_EQ(others, weights[0]) << "same bits on every core group";
      for (const double loss : losses) EXPECT_NEAR(loss, alone.last_loss(), 1e-5);
    }
}

TEST_P(CoreGroupsTest, ShareABatch) {
  for (const char* rates : types) share_a_batch(GetParam(), rates, most_groups());
}

TEST_P(CoreGroupsTest, AgreeOnSumsAndTexts) {
  const int groups = std::min(3, most_groups());
  const auto processor = processor_of(GetParam(), groups);
  SolverOptions options = toy_options();
  options.group = &processor->group(0);
  train_on_core_groups(*processor, options, [&](const SolverOptions& own) {
    const int rank = own.replicas->rank();
    double sums[] = {1.0 + rank, 10};
    own.replicas->sum(sums, 2);
    EXPECT_EQ(sums[0], groups * (groups + 1) / 2);
    EXPECT_EQ(sums[1], 10 * groups);
    i64 most = 5 - rank;
    own.replicas->maximum(&most, 1);
    EXPECT_EQ(most, 5);
    EXPECT_EQ(own.replicas->from_root("text of " + std::to_string(rank)), "text of 0");
    std::vector<float> values(5, static_cast<float>(rank + 7));
    own.replicas->from_root(values.data(), 5);
    EXPECT_EQ(values, std::vector<float>(5, 7.0f));
  });
}

TEST_P(CoreGroupsTest, AFailureOfOneEndsAll) {
  const int groups = std::min(3, most_groups());
  const auto processor = processor_of(GetParam(), groups);
  SolverOptions options = toy_options();
  options.group = &processor->group(0);
  EXPECT_THROW(train_on_core_groups(*processor, options,
                                    [&](const SolverOptions& own) {
                                      if (own.group->index() == groups - 1) throw ConfigError("layer 'x'", "cannot be");
                                      double sum = 1;
                                      own.replicas->sum(&sum, 1);
                                    }),
               ConfigError);
}

/// Adds arrays in finish as what arrives from other processes is added.
class AddingExchange : public GradientExchange {
 public:
  AddingExchange(SharedAddition& addition, CoreGroup& group, std::vector<i64> counts)
      : addition_(addition), group_(group), counts_(std::move(counts)) {}
  float finish(Net& /*net*/) override {
    for (const i64 count : counts_) {
      const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
      std::vector<float> x, y, sum(static_cast<std::size_t>(count));
      for (i64 i = 0; i < count; ++i) x.push_back(static_cast<float>(i)), y.push_back(static_cast<float>(3 * i + 1));
      const ClusterMemory from(group_, bytes), to(group_, bytes);
      group_.copy(from.get(), x.data(), bytes);
      group_.copy(to.get(), y.data(), bytes);
      group_.wait();
      addition_.add(group_, from.as<float>(), to.as<float>(), count);
      group_.copy(sum.data(), to.get(), bytes);
      group_.wait();
      for (i64 i = 0; i < count; ++i) must_hold(sum[static_cast<std::size_t>(i)] == static_cast<float>(4 * i + 1));
    }
    if (fails) throw ConfigError("exchange", "cannot go on");
    return 1;
  }
  bool fails = false;

 private:
  static void must_hold(bool holds) {
    if (!holds) throw ConfigError("sum", "is wrong");
  }
  SharedAddition& addition_;
  CoreGroup& group_;
  const std::vector<i64> counts_;
};

TEST_P(CoreGroupsTest, HelpTheExchangeToAdd) {
  for (const int groups : {1, 2, 3, 6}) {
    if (groups > most_groups()) break;
    const auto processor = processor_of(GetParam(), groups);
    if (!processor->group(0).spec().host_memory) return;
    SharedAddition addition;
    AddingExchange exchange(addition, processor->group(0), {1, 33, 32767, 32768, 100001});
    SolverOptions options = toy_options();
    options.group = &processor->group(0);
    options.exchange = &exchange;
    options.addition = &addition;
    const auto step = [&] {
      train_on_core_groups(*processor, options, [&](const SolverOptions& own) {
        Solver(solver_of(types[0], toy_net(67, batch / groups)), own).step(2);
      });
    };
    step();
    exchange.fails = true;
    EXPECT_THROW(step(), ConfigError);
    exchange.fails = false;
    step();
  }
}

/// As many values that parts are worth while.
TEST_P(CoreGroupsTest, AddLargeGradientsInParts) {
  const std::string net = R"(
    layer { name: "in" type: "DummyData" top: "x" top: "t"
            dummy_data_param { shape { dim: 4 dim: 301 } shape { dim: 4 dim: 331 }
                               data_filler { value: 0.5 } data_filler { value: 2 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y"
            inner_product_param { num_output: 331 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "y" bottom: "t" top: "l" })";
  const LayerTable layers = all_layers();
  const auto parameter = solver_of("base_lr: 0.01 lr_policy: 'fixed' momentum: 0.9 ", net);
  std::vector<float> alone;
  for (const int groups : {1, 2, 3, 6}) {
    if (groups > most_groups()) break;
    const auto processor = processor_of(GetParam(), groups);
    SolverOptions options = toy_options();
    options.layers = &layers;
    options.group = &processor->group(0);
    std::vector<std::vector<float>> weights(static_cast<std::size_t>(groups));
    train_on_core_groups(*processor, options, [&](const SolverOptions& own) {
      Solver solver(parameter, own);
      solver.step(3);
      weights[static_cast<std::size_t>(own.group->index())] = parameters_of(solver.net());
    });
    if (groups == 1) alone = weights[0];
    expect_near(weights[0], alone, 1e-6f, 1e-5f);
    for (const auto& others : weights) EXPECT_EQ(others, weights[0]);
  }
}

TEST(SharedAddition, PartsAreAllOnce) {
  for (const int groups : {1, 2, 4, 6, 7})
    for (const i64 n : {i64{0}, i64{1}, i64{32767}, i64{32768}, i64{32769}, i64{1000003}})
      for (const i64 turn : {0, 1, 5}) {
        i64 next = 0;
        for (int index = 0; index < groups; ++index) {
          const auto [first, count] = SharedAddition::part_of(n, index, groups, turn);
          if (count == 0) continue;
          EXPECT_EQ(first, next);
          EXPECT_EQ(first % Net::arena_alignment, 0);
          next += count;
        }
        EXPECT_EQ(next, n);
      }
}

INSTANTIATE_TEST_SUITE_P(Backends, CoreGroupsTest, ::testing::Values("reference", "late", "built"),
                         [](const auto& param_info) { return param_info.param; });

TEST(DivideBatches, ChangesDataLayersOnly) {
  auto net = net_of(R"(
    layer { name: "h5" type: "HDF5Data" top: "a" hdf5_data_param { source: "x" batch_size: 64 } }
    layer { name: "dummy" type: "DummyData" top: "b" dummy_data_param { shape { dim: 8 dim: 3 } shape { dim: 8 } } }
    layer { name: "in" type: "Input" top: "c" input_param { shape { dim: 4 dim: 6 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "a" top: "d" inner_product_param { num_output: 7 } }
    layer { name: "old" type: "DummyData" top: "e" dummy_data_param { num: 8 channels: 3 height: 5 width: 5 } })");
  divide_batches(net, 4, all_layers());
  EXPECT_EQ(net.layer(0).hdf5_data_param().batch_size(), 16u);
  EXPECT_EQ(net.layer(1).dummy_data_param().shape(0).dim(0), 2);
  EXPECT_EQ(net.layer(1).dummy_data_param().shape(1).dim(0), 2);
  EXPECT_EQ(net.layer(1).dummy_data_param().shape(0).dim(1), 3);
  EXPECT_EQ(net.layer(2).input_param().shape(0).dim(0), 1);
  EXPECT_EQ(net.layer(3).inner_product_param().num_output(), 7u);
  EXPECT_EQ(net.layer(4).dummy_data_param().num(0), 2u);
  EXPECT_EQ(net.layer(4).dummy_data_param().channels(0), 3u);
  try {
    divide_batches(net, 5, all_layers());
    FAIL() << "a batch of 16 was divided by 5";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("layer 'h5'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("16 cannot be divided among 5"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace cortado::test::core_groups_test
