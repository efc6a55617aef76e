// The moving average of weights: its values, who sees it, and snapshots of it.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/error.h"
#include "parallel_io/weights/hdf5_weights.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/toy_solver.h"

namespace cortado::test::weight_average_test {
namespace {
namespace fs = std::filesystem;
constexpr float decay = 0.75f;

class WeightAverageTest : public ::testing::Test {
 protected:
  caffe::SolverParameter parameter(int n, const std::string& more = "ema_decay: 0.75") const {
    return solver_of("base_lr: 0.5 lr_policy: 'fixed' momentum: 0.9 test_iter: 3 test_interval: 4 snapshot_prefix: '" +
                         folder_.file("toy") + "' " + more,
                     toy_net(n, 4));
  }
  SolverOptions options(const std::string& backend = "reference") const {
    auto options = toy_options(backend);
    options.hdf5 = &hdf5_;
    return options;
  }
  std::string state(int iteration, const std::string& end = "") const {
    return folder_.file("toy_iter_" + std::to_string(iteration) + ".solverstate" + end);
  }
  std::string average(int iteration, const std::string& end = "") const {
    return folder_.file("toy_iter_" + std::to_string(iteration) + ".ema.caffemodel" + end);
  }
  /// The values of a file of weights, blob by blob.
  std::vector<float> values_in(const std::string& file) const {
    caffe::NetParameter net;
    read_weights(file, &hdf5_, net);
    std::vector<float> all;
    for (const auto& blob : net.layer(0).blobs()) all.insert(all.end(), blob.data().begin(), blob.data().end());
    return all;
  }
  TemporaryFolder folder_;
  Hdf5Weights hdf5_;
};

TEST_F(WeightAverageTest, IsTheAverageAfterEveryIteration) {
  for (const std::string& backend : backend_names())
    for (const int n : {1, 5, 129, 4099}) {
      SCOPED_TRACE(backend + ", " + std::to_string(n));
      Solver solver(parameter(n), options(backend));
      std::vector<float> expected = parameters_of(solver.net());
      for (int i = 0; i < 6; ++i) {
        solver.step(1);
        const auto weights = parameters_of(solver.net());
        for (std::size_t j = 0; j < weights.size(); ++j) expected[j] = decay * expected[j] + (1 - decay) * weights[j];
      }
      solver.snapshot();
      const auto found = values_in(average(6));
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t j = 0; j < found.size(); ++j) EXPECT_NEAR(found[j], expected[j], 1e-6f) << j;
      EXPECT_NE(found, parameters_of(solver.net()));
    }
}

TEST_F(WeightAverageTest, TestsScoreItAndTrainingDoesNotSeeIt) {
  for (const std::string& backend : backend_names()) {
    SCOPED_TRACE(backend);
    Solver averaging(parameter(129), options(backend)), plain(parameter(129, ""), options(backend));
    averaging.step(6);
    plain.step(6);
    averaging.snapshot();
    averaging.test();
    plain.test();
    EXPECT_EQ(parameters_of(averaging.net()), parameters_of(plain.net()));
    EXPECT_NE(averaging.scores()[0][0].value, plain.scores()[0][0].value);
    Solver scorer(parameter(129, ""), options(backend));
    scorer.load_weights(average(6));
    scorer.test();
    EXPECT_EQ(averaging.scores()[0][0].value, scorer.scores()[0][0].value);
  }
}

TEST_F(WeightAverageTest, ResumesBitForBit) {
  for (const std::string format : {"BINARYPROTO", "HDF5"}) {
    SCOPED_TRACE(format);
    const std::string end = format == "HDF5" ? ".h5" : "", more = "ema_decay: 0.75 snapshot_format: " + format;
    Solver straight(parameter(129, more), options());
    straight.step(5);
    straight.snapshot();
    straight.step(4);
    straight.snapshot();
    const auto weights = parameters_of(straight.net()), expected = values_in(average(9, end));
    Solver resumed(parameter(129, more), options());
    resumed.restore(state(5, end));
    resumed.step(4);
    resumed.snapshot();
    EXPECT_EQ(parameters_of(resumed.net()), weights);
    EXPECT_EQ(values_in(average(9, end)), expected);
  }
}

/// A signal in the middle of a test: the snapshot has the weights, and the test goes on with the average.
TEST_F(WeightAverageTest, SnapshotsInTestsHoldBoth) {
  Solver quiet(parameter(129), options());
  quiet.step(5);
  quiet.snapshot();
  const auto expected = values_in(average(5));
  quiet.test();
  int asked = 0;
  auto asking = options();
  asking.action = [&] { return ++asked == 7 ? SolverAction::snapshot : SolverAction::none; };
  fs::remove(state(5));
  auto untested = parameter(129);
  untested.set_test_interval(100);
  untested.set_test_initialization(false);
  Solver solver(untested, asking);
  solver.step(5);
  solver.test();
  EXPECT_EQ(asked, 8);
  ASSERT_TRUE(fs::exists(state(5)));
  EXPECT_EQ(values_in(average(5)), expected);
  EXPECT_EQ(solver.scores()[0][0].value, quiet.scores()[0][0].value);
  EXPECT_EQ(values_in(folder_.file("toy_iter_5.caffemodel")), parameters_of(solver.net()));
}

TEST_F(WeightAverageTest, BeginsAsLoadedWeights) {
  Solver first(parameter(5, ""), options());
  first.step(3);
  first.snapshot();
  const auto weights = parameters_of(first.net());
  EXPECT_FALSE(fs::exists(average(3)));
  Solver loaded(parameter(5), options());
  loaded.load_weights(folder_.file("toy_iter_3.caffemodel"));
  loaded.snapshot();
  EXPECT_EQ(values_in(average(0)), weights);
  Solver resumed(parameter(5), options());
  resumed.restore(state(3));
  resumed.snapshot();
  EXPECT_EQ(values_in(average(3)), weights);
}

TEST_F(WeightAverageTest, BelongsToItsState) {
  Solver solver(parameter(5), options());
  solver.step(3);
  solver.snapshot();
  solver.step(2);
  solver.snapshot();
  fs::copy_file(average(3), average(5), fs::copy_options::overwrite_existing);
  Solver reader(parameter(5), options());
  EXPECT_THROW(reader.restore(state(5)), FileError);
  EXPECT_TRUE(reader.restore_newest());
  EXPECT_EQ(reader.iteration(), 3) << "the newest whole one";
  fs::remove(average(5));
  EXPECT_THROW(reader.restore(state(5)), FileError);
  Solver plain(parameter(5, ""), options());
  plain.restore(state(5));  // it needs none
  plain.snapshot();
  EXPECT_FALSE(fs::exists(average(5)));
}

TEST_F(WeightAverageTest, OldOnesGoWithTheirStates) {
  Solver solver(parameter(5, "ema_decay: 0.75 snapshot_keep: 1 max_iter: 6 snapshot: 2"), options());
  solver.solve();
  EXPECT_FALSE(fs::exists(average(2)));
  EXPECT_FALSE(fs::exists(average(4)));
  EXPECT_TRUE(fs::exists(average(6)));
  Solver plain(parameter(5, "max_iter: 0"), options());
  fs::copy_file(average(6), average(0));
  plain.snapshot();
  EXPECT_FALSE(fs::exists(average(0))) << "of an earlier run of that name";
}

TEST_F(WeightAverageTest, RefusesDecaysThatAverageNothing) {
  for (const char* bad : {"-0.1", "1", "2"})
    EXPECT_THROW(Solver(parameter(5, std::string("ema_decay: ") + bad), options()), ConfigError) << bad;
}
}  // namespace
}  // namespace cortado::test::weight_average_test
