// Snapshots that are written while training goes on.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <set>
#include <sstream>
#include <thread>

#include "core/base/error.h"
#include "parallel_io/weights/hdf5_weights.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/toy_solver.h"

namespace cortado::test::async_snapshot_test {
namespace {
namespace fs = std::filesystem;

/// Files that wait before they are written, or fail.
class GatedFiles : public Hdf5Weights {
 public:
  void write_weights(const std::string& file, const caffe::NetParameter& weights) const override {
    ++begun;
    if (fails) throw FileError(file, "cannot be written: the disk is full");
    gate.wait();
    Hdf5Weights::write_weights(file, weights);
  }
  void open() { opener_.set_value(); }
  mutable std::atomic<int> begun{0};
  std::atomic<bool> fails{false};

 private:
  std::promise<void> opener_;

 public:
  std::shared_future<void> gate{opener_.get_future().share()};
};

class AsyncSnapshotTest : public ::testing::Test {
 protected:
  caffe::SolverParameter parameter(const std::string& more) const {
    auto all = solver_of(
        "base_lr: 0.05 lr_policy: 'fixed' type: 'Adam' momentum: 0.9 ema_decay: 0.5 max_iter: 9 test_iter: 1 "
        "test_interval: 3 snapshot_prefix: '" +
            folder_.file("toy") + "'",
        toy_net(129, 4));
    caffe::SolverParameter own;
    parse_text(more, "more", own);
    all.MergeFrom(own);
    return all;
  }
  SolverOptions options(const Hdf5Files& files) const {
    auto options = toy_options();
    options.hdf5 = &files;
    return options;
  }
  /// Names and bytes of all files.
  std::set<std::pair<std::string, std::string>> files() const {
    std::set<std::pair<std::string, std::string>> all;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      std::ostringstream bytes;
      bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      all.emplace(entry.path().filename().string(), bytes.str());
    }
    return all;
  }
  TemporaryFolder folder_;
};

TEST_F(AsyncSnapshotTest, FilesHaveTheBitsOfThoseThatTrainingWaitsFor) {
  const Hdf5Weights hdf5;
  for (const std::string more :
       {"snapshot: 2", "snapshot: 1 snapshot_keep: 1", "snapshot: 4 snapshot_keep: 2 snapshot_best: 'loss'"}) {
    SCOPED_TRACE(more);
    Solver(parameter(more), options(hdf5)).solve();
    const auto expected = files();
    for (const auto& file : expected) fs::remove(folder_.file(file.first));
    Solver(parameter(more + " snapshot_async: true"), options(hdf5)).solve();
    EXPECT_EQ(files(), expected);
    EXPECT_GE(expected.size(), 3u);
    for (const auto& file : expected) fs::remove(folder_.file(file.first));
  }
}

TEST_F(AsyncSnapshotTest, TrainingGoesOnWhileFilesAreWritten) {
  GatedFiles gated;
  auto waiting = options(gated);
  i64 iterations = 0;
  waiting.progress = [&](const SolverOptions::Progress& progress) {
    iterations = progress.iteration;
    if (iterations == 6) {
      EXPECT_FALSE(fs::exists(folder_.file("toy_iter_3.solverstate.h5")));
      gated.open();
    }
  };
  Solver solver(parameter("snapshot: 3 snapshot_format: HDF5 snapshot_async: true max_iter: 7"), waiting);
  solver.solve();
  EXPECT_EQ(iterations, 7);
  for (const char* name : {"toy_iter_3", "toy_iter_6", "toy_iter_7"})
    EXPECT_TRUE(fs::exists(folder_.file(name + std::string(".solverstate.h5")))) << name;
  Solver resumed(parameter("snapshot_async: true"), options(gated));
  resumed.restore(folder_.file("toy_iter_3.solverstate.h5"));
  resumed.step(4);
  EXPECT_EQ(parameters_of(resumed.net()), parameters_of(solver.net()));
}

TEST_F(AsyncSnapshotTest, WhatCannotBeWrittenIsToldSoon) {
  GatedFiles gated;
  gated.open();
  auto failing = options(gated);
  int asked = 0;
  failing.action = [&] {
    if (++asked == 3)  // the first one is whole
      while (!fs::exists(folder_.file("toy_iter_2.solverstate.h5"))) std::this_thread::yield();
    gated.fails = asked >= 3;
    return asked == 2 || asked == 4 ? SolverAction::snapshot : SolverAction::none;
  };
  constexpr int much_later = 10000000;
  auto parameters = parameter("snapshot_format: HDF5 snapshot_async: true test_initialization: false");
  parameters.set_max_iter(much_later);
  parameters.set_test_interval(much_later);
  Solver solver(parameters, failing);
  try {
    solver.solve();
    FAIL() << "a snapshot that failed went unnoticed";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("toy_iter_4.ema.caffemodel.h5"), std::string::npos) << error.what();
  }
  EXPECT_LT(asked, much_later);
  EXPECT_FALSE(fs::exists(folder_.file("toy_iter_4.solverstate.h5")));
  gated.fails = false;
  Solver resumed(parameter("snapshot_format: HDF5 snapshot_async: true"), options(gated));
  EXPECT_TRUE(resumed.restore_newest());
  EXPECT_EQ(resumed.iteration(), 2);
  const std::string state = resumed.snapshot();
  EXPECT_TRUE(fs::exists(state)) << "complete when it returns";
}
}  // namespace
}  // namespace cortado::test::async_snapshot_test
