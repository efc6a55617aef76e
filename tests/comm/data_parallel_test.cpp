// n ranks with batch b / n train as one rank with batch b. Rank counts divide the batch of 60.
#include <gtest/gtest.h>

#include <filesystem>

#include "comm/exchange/packed_allreduce.h"
#include "core/base/error.h"
#include "tests/support/layer_rig.h"
#include "tests/support/mpi_main.h"
#include "tests/support/shared_folder.h"
#include "tests/support/toy_solver.h"

namespace cortado::test::data_parallel_test {
namespace {
constexpr int global_batch = 60;
constexpr const char* rates = "base_lr: 0.1 lr_policy: 'inv' gamma: 0.1 power: 0.5 momentum: 0.9 weight_decay: 0.01 ";

class DataParallelTest : public ::testing::TestWithParam<std::string> {
 protected:
  static int ranks() { return job().size(); }
  SolverOptions parallel() {
    auto options = toy_options(GetParam());
    options.replicas = &job().replicas();
    options.exchange = &exchange_;
    return options;
  }
  JobTeam team_{job().replicas().communicator(), group_of(GetParam())};
  PackedAllreduce exchange_{team_, group_of(GetParam())};
};

/// All but the last value: the running statistic of batches of another size.
std::vector<float> weights_of(const Net& net) {
  auto all = parameters_of(net);
  all.pop_back();
  return all;
}

TEST_P(DataParallelTest, EqualsOneRankWithTheWholeBatch) {
  for (const std::string more : {"", "iter_size: 2 clip_gradients: 0.1"}) {
    Solver alone(solver_of(rates + more, toy_net(67, global_batch)), toy_options(GetParam()));
    Solver together(solver_of(rates + more, toy_net(67, global_batch / ranks())), parallel());
    for (int i = 0; i < 5; ++i) {
      alone.step(1);
      together.step(1);
      EXPECT_NEAR(together.last_loss(), alone.last_loss(), 1e-5) << more;
    }
    expect_near(weights_of(together.net()), weights_of(alone.net()), 1e-6f, 1e-5f);
    expect_agreement(weights_of(together.net()));
  }
}

TEST_P(DataParallelTest, TestsAsOneRank) {
  for (const int passes : {1, 3, 5, 7}) {
    const auto text = rates + ("test_interval: 100 test_compute_loss: true test_iter: " + std::to_string(passes));
    Solver alone(solver_of(text, toy_net(9, 4)), toy_options(GetParam()));
    Solver together(solver_of(text, toy_net(9, 4)), parallel());
    alone.test();
    together.test();
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(together.scores()[0][i].value, alone.scores()[0][i].value, 1e-7);
  }
}

/// Ranks' running statistics differ; tests and snapshots take their mean, and training goes on with every rank's own.
TEST_P(DataParallelTest, TestsAndSnapshotsChangeNothing) {
  const SharedFolder folder;
  const auto text = rates + ("snapshot_prefix: '" + folder.file("toy") + "' test_iter: 3 test_interval: ");
  Solver straight(solver_of(text + "100", toy_net(9, 4)), parallel());
  straight.step(5);
  const auto own = parameters_of(straight.net());
  double mean = double{own.back()};
  job().replicas().sum(&mean, 1);
  Solver disturbed(solver_of(text + "1", toy_net(9, 4)), parallel());
  for (int i = 0; i < 5; ++i) {
    disturbed.step(1);
    disturbed.snapshot();
  }
  EXPECT_EQ(parameters_of(disturbed.net()), own);
  caffe::NetParameter stored;
  read_binary(folder.file("toy_iter_5.caffemodel"), stored);
  EXPECT_NEAR(stored.layer(0).blobs(2).data(0), mean / ranks(), 1e-6);

  straight.step(4);
  Solver resumed(solver_of(text + "2", toy_net(9, 4)), parallel());
  resumed.restore(folder.file("toy_iter_2.solverstate"));
  resumed.step(7);
  EXPECT_EQ(parameters_of(resumed.net()), parameters_of(straight.net())) << "every rank goes on with its own";
}

/// Another number of ranks goes on from the mean.
TEST_P(DataParallelTest, OtherRanksTakeTheMean) {
  const SharedFolder folder;
  const auto parameter = solver_of(rates + ("snapshot_prefix: '" + folder.file("toy") + "'"), toy_net(9, 4));
  Solver solver(parameter, parallel());
  solver.step(3);
  const std::string state = solver.snapshot();
  double mean = double{parameters_of(solver.net()).back()};
  job().replicas().sum(&mean, 1);
  Solver alone(parameter, toy_options(GetParam()));
  alone.restore(state);
  EXPECT_NEAR(parameters_of(alone.net()).back(), mean / ranks(), 1e-6);
}

TEST_P(DataParallelTest, ResumesBitForBit) {
  const SharedFolder folder;
  const auto parameter = solver_of(rates + ("snapshot_prefix: '" + folder.file("toy") + "'"), toy_net(67, 4));
  Solver straight(parameter, parallel());
  straight.step(4);
  const std::string state = straight.snapshot();
  EXPECT_TRUE(std::filesystem::exists(state)) << "complete for all when it returns";
  straight.step(4);
  Solver resumed(parameter, parallel());
  resumed.restore(state);
  resumed.step(4);
  EXPECT_EQ(parameters_of(resumed.net()), parameters_of(straight.net()));
  EXPECT_EQ(resumed.last_loss(), straight.last_loss());
}

/// Every rank averages its own running statistics, and goes on with that average.
TEST_P(DataParallelTest, AverageOfWeightsResumesBitForBit) {
  const SharedFolder folder;
  const auto text =
      rates + ("snapshot_prefix: '" + folder.file("toy") + "' test_iter: 3 test_interval: 4 ema_decay: 0.75");
  const auto average = [&](int iteration) {
    caffe::NetParameter stored;
    read_binary(folder.file("toy_iter_" + std::to_string(iteration) + ".ema.caffemodel"), stored);
    return stored.SerializeAsString();
  };
  Solver straight(solver_of(text, toy_net(67, 4)), parallel());
  straight.step(4);
  const std::string state = straight.snapshot();
  straight.step(5);
  straight.snapshot();
  straight.test();
  const std::string expected = average(9);
  Solver resumed(solver_of(text, toy_net(67, 4)), parallel());
  resumed.restore(state);
  resumed.step(5);
  resumed.snapshot();
  resumed.test();
  EXPECT_EQ(parameters_of(resumed.net()), parameters_of(straight.net()));
  EXPECT_EQ(average(9), expected);
  EXPECT_EQ(resumed.scores()[0][0].value, straight.scores()[0][0].value);
}

TEST_P(DataParallelTest, AllRanksFailWithTheRoot) {
  const SharedFolder folder;
  Solver solver(solver_of(rates, toy_net(5, 4)), parallel());
  EXPECT_THROW(solver.restore(folder.file("absent.solverstate")), Error);
  EXPECT_THROW(solver.load_weights(folder.file("absent.caffemodel")), Error);
}

TEST_P(DataParallelTest, OneRanksSignalIsEverybodys) {
  auto options = parallel();
  int asked = 0;
  options.action = [&] {
    return ++asked == 3 && job().rank() == ranks() - 1 ? SolverAction::stop : SolverAction::none;
  };
  Solver solver(solver_of(rates + std::string("max_iter: 9 snapshot_after_train: false"), toy_net(5, 4)), options);
  solver.solve();
  EXPECT_TRUE(solver.stopped_early());
  EXPECT_EQ(solver.iteration(), 3);
}

TEST_P(DataParallelTest, OneRanksNaNStopsAll) {
  // The last rank of the third pass is the first to see the broken sample.
  const int broken = 3 * 4 * ranks() - 1;
  const auto net = toy_net(5, 4, "threshold_param { threshold: " + std::to_string(broken) + " }");
  Solver solver(solver_of(rates, net), parallel());
  solver.step(2);
  try {
    solver.step(1);
    FAIL() << "a loss of NaN went unnoticed";
  } catch (const NumericError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("layer 'toy'"), std::string::npos) << what;
    const std::string rank = ranks() > 1 ? "on rank " + std::to_string(ranks() - 1) : "";
    EXPECT_NE(what.find(rank), std::string::npos) << what;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, DataParallelTest, ::testing::ValuesIn(job_backends()), backend_name);
}  // namespace
}  // namespace cortado::test::data_parallel_test
