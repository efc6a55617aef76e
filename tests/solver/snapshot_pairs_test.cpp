// Which weights belong to a state; the newest whole pair; which snapshots stay.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "core/base/error.h"
#include "parallel_io/weights/hdf5_weights.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/toy_solver.h"

namespace cortado::test::snapshot_pairs_test {
namespace {
namespace fs = std::filesystem;

class SnapshotPairsTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::string end() const { return GetParam() == "HDF5" ? ".h5" : ""; }
  std::string prefix(const std::string& name = "toy") const { return folder_.file(name); }
  std::string state(int iteration) const {
    return prefix() + "_iter_" + std::to_string(iteration) + ".solverstate" + end();
  }
  std::string model(int iteration) const {
    return prefix() + "_iter_" + std::to_string(iteration) + ".caffemodel" + end();
  }
  caffe::SolverParameter parameter(const std::string& more = "", const std::string& name = "toy") const {
    auto all = solver_of("base_lr: 0.05 lr_policy: 'fixed' momentum: 0.9 max_iter: 6 snapshot_format: " + GetParam() +
                             " snapshot_prefix: '" + prefix(name) + "' ",
                         toy_net(5, 4));
    caffe::SolverParameter own;
    parse_text(more, "more", own);
    all.MergeFrom(own);
    return all;
  }
  SolverOptions options() const {
    auto options = toy_options();
    options.hdf5 = &hdf5_;
    return options;
  }
  caffe::SolverState read(const std::string& file) const {
    caffe::SolverState stored;
    read_state(file, &hdf5_, stored);
    return stored;
  }
  void write(const std::string& file, const caffe::SolverState& stored) const {
    if (GetParam() == "HDF5")
      hdf5_.write_state(file, stored);
    else
      write_binary(file, stored);
  }
  std::string told_by_restoring(const std::string& file) const {
    Solver solver(parameter(), options());
    try {
      solver.restore(file);
    } catch (const FileError& error) { return error.what(); }
    return "";
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) names.insert(entry.path().filename().string());
    return names;
  }
  std::set<std::string> pairs(const std::vector<std::string>& names) const {
    std::set<std::string> all;
    for (const std::string& name : names)
      for (const char* extension : {".caffemodel", ".solverstate"}) all.insert(name + extension + end());
    return all;
  }
  TemporaryFolder folder_;
  Hdf5Weights hdf5_;
};

TEST_P(SnapshotPairsTest, MovedPairStaysTogether) {
  Solver first(parameter(), options());
  first.step(3);
  first.snapshot();
  const auto weights = parameters_of(first.net());
  fs::create_directory(folder_.file("saved"));
  for (const auto& file : {state(3), model(3)})
    fs::rename(file, fs::path(folder_.file("saved")) / fs::path(file).filename());
  Solver other(parameter("random_seed: 7 weight_decay: 0.1"), options());
  other.step(3);
  other.snapshot();  // where the state says that its weights lie
  ASSERT_NE(parameters_of(other.net()), weights);
  Solver resumed(parameter(), options());
  resumed.restore(folder_.file("saved/toy_iter_3.solverstate" + end()));
  EXPECT_EQ(parameters_of(resumed.net()), weights);
}

TEST_P(SnapshotPairsTest, FindsItsWeightsWhereTheStateSays) {
  Solver solver(parameter(), options());
  solver.step(3);
  solver.snapshot();
  fs::create_directory(folder_.file("saved"));
  const std::string moved = folder_.file("saved/toy_iter_3.solverstate" + end());
  fs::rename(state(3), moved);
  EXPECT_EQ(told_by_restoring(moved), "");
  Solver other(parameter("weight_decay: 0.1", "saved/toy"), options());  // beside it lie other weights of its name
  other.step(3);
  other.snapshot();
  fs::remove(moved);
  solver.snapshot();
  fs::rename(state(3), moved);
  EXPECT_EQ(told_by_restoring(moved), "") << "the digest tells which are its own";
}

TEST_P(SnapshotPairsTest, RefusesWeightsOfAnotherMoment) {
  Solver solver(parameter(), options());
  solver.step(3);
  solver.snapshot();
  solver.step(2);
  solver.snapshot();
  fs::copy_file(model(5), model(3), fs::copy_options::overwrite_existing);  // killed before the state's turn came
  const std::string told = told_by_restoring(state(3));
  EXPECT_NE(told.find("belongs to other weights"), std::string::npos) << told;
  EXPECT_NE(told.find(model(3)), std::string::npos) << told;
  EXPECT_EQ(told_by_restoring(state(5)), "");
  fs::remove(model(3));
  EXPECT_NE(told_by_restoring(state(3)).find("missing"), std::string::npos);
}

TEST_P(SnapshotPairsTest, TakesCaffesStatesWithoutDigest) {
  Solver solver(parameter(), options());
  solver.step(3);
  solver.snapshot();
  auto stored = read(state(3));
  EXPECT_EQ(stored.cortado().weights_digest().size(), 32U);
  stored.clear_cortado();
  write(state(3), stored);
  Solver resumed(parameter(), options());
  resumed.restore(state(3));
  EXPECT_EQ(parameters_of(resumed.net()), parameters_of(solver.net()));
}

TEST_P(SnapshotPairsTest, RefusesWhatNoRunWrites) {
  Solver solver(parameter(), options());
  solver.step(3);
  solver.snapshot();
  const auto good = read(state(3));
  auto bad = good;
  bad.set_iter(-1);
  write(state(3), bad);
  EXPECT_NE(told_by_restoring(state(3)).find("iter is -1"), std::string::npos);
  bad = good;
  bad.clear_iter();
  auto other = good;
  other.clear_current_step();
  if (GetParam() == "BINARYPROTO") {  // HDF5's writer writes both
    write(state(3), bad);
    EXPECT_NE(told_by_restoring(state(3)).find("has no iter"), std::string::npos);
    write(state(3), other);
    EXPECT_NE(told_by_restoring(state(3)).find("has no current_step"), std::string::npos);
  }
  bad = good;
  for (const int step : {-5, 4}) {
    bad.set_current_step(step);
    write(state(3), bad);
    EXPECT_NE(told_by_restoring(state(3)).find("current_step is " + std::to_string(step) + " at iteration 3"),
              std::string::npos);
  }
  bad = good;
  bad.mutable_history(0)->set_data(1, std::nanf(""));
  write(state(3), bad);
  EXPECT_NE(told_by_restoring(state(3)).find("NaN"), std::string::npos);
}

TEST_P(SnapshotPairsTest, TellsWeightsFromStates) {
  Solver solver(parameter(), options());
  solver.step(3);
  solver.snapshot();
  EXPECT_NE(told_by_restoring(model(3)).find("start from the weights with -weights " + model(3)), std::string::npos);
  try {
    solver.load_weights(state(3));
    ADD_FAILURE() << "a state was taken for weights";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("-snapshot " + state(3)), std::string::npos) << error.what();
  }
}

TEST_P(SnapshotPairsTest, GoesOnFromTheNewestWholePair) {
  Solver solver(parameter("snapshot: 2"), options());
  solver.solve();  // 2, 4, 6
  const auto newest = [&](const std::string& more = "") {
    Solver resumed(parameter(more), options());
    return resumed.restore_newest() ? resumed.iteration() : -1;
  };
  EXPECT_EQ(newest(), 6);
  fs::copy_file(model(4), model(6), fs::copy_options::overwrite_existing);
  EXPECT_EQ(newest(), 4) << "6 is mixed";
  fs::resize_file(state(4), fs::file_size(state(4)) / 2);
  EXPECT_EQ(newest(), 2) << "4 is cut off";
  folder_.write("toy_iter_9.solverstate" + end(), "");
  folder_.write("toy_iter_10000000000000000000.solverstate" + end(), "");
  folder_.write("toy_iter_x.solverstate" + end(), "");
  EXPECT_EQ(newest(), 2);
  fs::remove(model(2));
  EXPECT_EQ(newest(), -1);
  EXPECT_EQ(newest("snapshot_prefix: '" + folder_.file("absent/folder/toy") + "'"), -1);
  caffe::SolverParameter nameless = parameter();
  nameless.clear_snapshot_prefix();
  Solver without(nameless, options());
  EXPECT_THROW(without.restore_newest(), ConfigError);
}

/// Rank 0 of two; what rank 1 sees is added where ranks tell each other two numbers.
class RankZero : public Replicas {
 public:
  explicit RankZero(double newest_of_other) : newest_(newest_of_other) {}
  int size() const override { return 2; }
  void sum(double* values, i64 count) const override {
    if (count == 2) values[1] += newest_;
  }

 private:
  double newest_;
};

TEST_P(SnapshotPairsTest, NewerPairsThatRankZeroDoesNotSeeAreTold) {
  const auto told = [&](double newest_of_other) {
    const RankZero ranks(newest_of_other);
    NoExchange exchange;
    auto with = options();
    with.replicas = &ranks;
    with.exchange = &exchange;
    Solver solver(parameter(), with);
    try {
      solver.restore_newest();
    } catch (const ConfigError& error) { return std::string(error.what()); }
    return std::string();
  };
  EXPECT_EQ(told(-1), "");
  EXPECT_EQ(told(4).find("rank 1: sees the snapshot " + state(4) + ", and rank 0 none (let snapshot_prefix"), 0U)
      << told(4);
  Solver(parameter("snapshot: 3"), options()).solve();
  EXPECT_EQ(told(-1), "");
  EXPECT_EQ(told(3), "") << "it is older";
  EXPECT_NE(told(9).find("and rank 0 none newer than " + state(6)), std::string::npos) << told(9);
}

TEST_P(SnapshotPairsTest, AnotherNetsPairIsNoReasonToBeginAnew) {
  Solver(parameter(), options()).solve();
  auto wider = parameter();
  *wider.mutable_net_param() = net_of(toy_net(6, 4));
  Solver solver(wider, options());
  EXPECT_THROW(solver.restore_newest(), Error);
}

TEST_P(SnapshotPairsTest, KeepsTheNewestOfTheRun) {
  Solver older(parameter("max_iter: 1"), options());
  older.solve();
  Solver first(parameter("max_iter: 8 snapshot: 2 snapshot_keep: 2"), options());
  first.solve();
  EXPECT_EQ(files(), pairs({"toy_iter_1", "toy_iter_6", "toy_iter_8"})) << "1 is another run's";

  Solver second(parameter("max_iter: 10 snapshot: 2 snapshot_keep: 2"), options());
  second.restore_newest();
  second.solve();
  EXPECT_EQ(files(), pairs({"toy_iter_1", "toy_iter_8", "toy_iter_10"})) << "it is the same run that goes on";

  auto elsewhere = parameter("max_iter: 12 snapshot: 1 snapshot_keep: 1", "other");
  Solver third(elsewhere, options());
  third.restore(state(10));
  third.solve();
  EXPECT_EQ(files(), pairs({"toy_iter_1", "toy_iter_8", "toy_iter_10", "other_iter_12"}))
      << "a run with a prefix of its own deletes nothing elsewhere";
}

TEST_P(SnapshotPairsTest, KeepsTheBest) {
  const std::string tests = "test_iter: 1 test_interval: 1 snapshot_after_train: false ";
  // The loss falls at first; the score of the test net does not change.
  Solver solver(parameter(tests + "snapshot_best: 'loss'"), options());
  std::vector<double> losses;
  for (int i = 0; i < 6; ++i) {
    solver.step(1);  // tests before the iteration
    losses.push_back(solver.scores()[0][0].value);
  }
  const auto best = std::min_element(losses.begin(), losses.end());
  const auto stored = read(prefix() + "_best.solverstate" + end());
  EXPECT_EQ(stored.iter(), best - losses.begin());
  EXPECT_EQ(stored.cortado().best(), *best);

  Solver constant(parameter(tests + "snapshot_best: 'score'", "constant"), options());
  constant.step(4);
  EXPECT_EQ(read(prefix("constant") + "_best.solverstate" + end()).iter(), 0) << "an equal score is not better";

  Solver resumed(parameter(tests + "snapshot_best: 'loss'"), options());
  fs::remove(prefix() + "_best.caffemodel" + end());
  EXPECT_FALSE(resumed.restore_newest());
  EXPECT_THROW(Solver(parameter(tests + "snapshot_best: 'accuracy'"), options()), ConfigError);
  EXPECT_THROW(Solver(parameter("snapshot_best: 'loss'"), options()), ConfigError) << "nothing is tested";
}

TEST_P(SnapshotPairsTest, TwoJobsOfOnePrefixAreTold) {
  Solver second(parameter("snapshot: 2"), options());
  auto watched = options();
  std::string told;
  watched.action = [&] {
    try {
      if (told.empty()) second.solve();
    } catch (const FileError& error) { told = error.what(); }
    return SolverAction::none;
  };
  Solver first(parameter("snapshot: 2"), watched);
  first.solve();
  EXPECT_NE(told.find("another job"), std::string::npos) << told;
  EXPECT_NE(told.find("process " + std::to_string(getpid())), std::string::npos) << told;
  second.solve();
  EXPECT_EQ(files(), pairs({"toy_iter_2", "toy_iter_4", "toy_iter_6"}));
}

INSTANTIATE_TEST_SUITE_P(Forms, SnapshotPairsTest, ::testing::Values("BINARYPROTO", "HDF5"),
                         [](const auto& form) { return form.param; });

}  // namespace
}  // namespace cortado::test::snapshot_pairs_test
