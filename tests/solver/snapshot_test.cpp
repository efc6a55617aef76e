#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "parallel_io/weights/hdf5_weights.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/toy_solver.h"

namespace cortado::test::snapshot_test {
namespace {
constexpr const char* policy =
    "base_lr: 0.05 lr_policy: 'inv' gamma: 0.1 power: 0.5 weight_decay: 0.01 iter_size: 2 warmup_iter: 9 ";

/// Every solver type, and how many histories it keeps per blob.
const std::pair<const char*, int> types[] = {
    {"type: 'SGD' momentum: 0.9 ", 1},
    {"type: 'Nesterov' momentum: 0.9 ", 1},
    {"type: 'AdaGrad' ", 1},
    {"type: 'RMSProp' ", 1},
    {"type: 'AdaDelta' momentum: 0.95 ", 2},
    {"type: 'Adam' momentum: 0.9 ", 2},
    {"type: 'LARS' momentum: 0.9 ", 1},
};

class SnapshotTest : public ::testing::Test {
 protected:
  std::string prefix() const { return folder_.file("toy"); }
  caffe::SolverParameter parameter(int n = 129, const std::string& more = "") const {
    return typed("momentum: 0.9 ", n, policy + more);
  }
  caffe::SolverParameter typed(const std::string& type, int n = 129, const std::string& more = policy) const {
    return solver_of(type + more + " snapshot_prefix: '" + prefix() + "' ", toy_net(n, 4));
  }
  void truncate(const std::string& file, double share) const {
    std::filesystem::resize_file(
        file, static_cast<std::uintmax_t>(share * static_cast<double>(std::filesystem::file_size(file))));
  }
  void expect_file_error(const std::string& state_file, int n = 129) {
    Solver solver(parameter(n), toy_options());
    EXPECT_THROW(solver.restore(state_file), FileError);
  }
  TemporaryFolder folder_;
  Hdf5Weights hdf5_;
};

TEST_F(SnapshotTest, ResumesBitForBit) {
  for (const std::string& backend : backend_names())
    for (const auto& [type, histories] : types) {
      SCOPED_TRACE(backend + ", " + type);
      Solver straight(typed(type), toy_options(backend));
      straight.step(7);
      const std::string state = straight.snapshot();
      EXPECT_EQ(state, prefix() + "_iter_7.solverstate");
      straight.step(6);

      Solver resumed(typed(type), toy_options(backend));
      resumed.restore(state);
      EXPECT_EQ(resumed.iteration(), 7);
      resumed.step(6);
      EXPECT_EQ(parameters_of(resumed.net()), parameters_of(straight.net()));
      EXPECT_EQ(resumed.last_loss(), straight.last_loss());
      EXPECT_EQ(resumed.learning_rate(), straight.learning_rate());
    }
}

TEST_F(SnapshotTest, StatesOfOtherTypesAreToldByTheirHistories) {
  for (const auto& [type, histories] : types) {
    Solver solver(typed(type, 5), toy_options());
    solver.step(1);
    const std::string file = solver.snapshot();
    caffe::SolverState state;
    read_binary(file, state);
    EXPECT_EQ(state.history_size(), 3 * histories) << type;
    for (const auto& [other, others_histories] : types) {
      Solver reader(typed(other, 5), toy_options());
      if (histories == others_histories)
        EXPECT_NO_THROW(reader.restore(file)) << type << " to " << other;
      else
        EXPECT_THROW(reader.restore(file), FileError) << type << " to " << other;
    }
  }
}

/// Caffe: the first histories of all blobs, then the second ones.
TEST_F(SnapshotTest, SecondHistoriesComeLast) {
  Solver solver(typed("type: 'Adam' momentum: 0.9 momentum2: 0.8 ", 5, "base_lr: 0.1 lr_policy: 'fixed' "),
                toy_options());
  solver.step(1);
  caffe::SolverState state;
  read_binary(solver.snapshot(), state);
  ASSERT_EQ(state.history_size(), 6);
  for (int blob = 0; blob < 2; ++blob) {
    const auto gradient = solver.net().learnable()[static_cast<std::size_t>(blob)].blob->diff_vector();
    const auto &first = state.history(blob), &second = state.history(blob + 3);
    ASSERT_EQ(second.data_size(), static_cast<int>(gradient.size()));
    for (int i = 0; i < second.data_size(); ++i) {
      const float g = gradient[static_cast<std::size_t>(i)];
      EXPECT_FLOAT_EQ(first.data(i), (1 - 0.9f) * g);
      EXPECT_FLOAT_EQ(second.data(i), (1 - 0.8f) * g * g);
    }
  }
}

TEST_F(SnapshotTest, ResumesBitForBitFromHdf5) {
  const auto with_hdf5 = [this](const std::string& more = "") {
    return parameter(129, "snapshot_format: HDF5 " + more);
  };
  auto options = toy_options();
  options.hdf5 = &hdf5_;
  Solver straight(with_hdf5("snapshot_diff: true"), options);
  straight.step(7);
  const std::string state = straight.snapshot(), model = prefix() + "_iter_7.caffemodel.h5";
  EXPECT_EQ(state, prefix() + "_iter_7.solverstate.h5");
  caffe::NetParameter weights;
  hdf5_.read_weights(model, weights);
  for (const auto& layer : weights.layer())
    for (const auto& blob : layer.blobs()) EXPECT_EQ(blob.diff_size(), blob.data_size());
  caffe::SolverState stored;
  hdf5_.read_state(state, stored);
  EXPECT_EQ(stored.cortado().ranks(), 1);
  EXPECT_EQ(stored.learned_net(), model);
  straight.step(6);

  const std::string folder = folder_.file("elsewhere");
  std::filesystem::create_directory(folder);
  std::filesystem::rename(state, folder + "/best.solverstate.h5");
  std::filesystem::rename(model, folder + "/best.caffemodel.h5");
  Solver resumed(parameter(), options);  // what a state is read from, and what it is written to, are two things
  resumed.restore(folder + "/best.solverstate.h5");
  EXPECT_EQ(resumed.iteration(), 7);
  resumed.step(6);
  EXPECT_EQ(parameters_of(resumed.net()), parameters_of(straight.net()));

  Solver started(parameter(), options);
  started.load_weights(folder + "/best.caffemodel.h5");
  EXPECT_EQ(started.iteration(), 0);
  truncate(folder + "/best.caffemodel.h5", 0.5);
  EXPECT_THROW(resumed.restore(folder + "/best.solverstate.h5"), FileError);
  EXPECT_THROW(Solver(with_hdf5(), toy_options()), ConfigError) << "a program without HDF5 says so at the start";
}

TEST_F(SnapshotTest, WritesWhenDueAndAtTheEndOnce) {
  Solver solver(parameter(5, "max_iter: 7 snapshot: 3"), toy_options());
  solver.solve();
  for (const int iteration : {3, 6, 7})
    for (const char* extension : {".caffemodel", ".solverstate"})
      EXPECT_TRUE(std::filesystem::exists(prefix() + "_iter_" + std::to_string(iteration) + extension));
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_.path())) ++files;
  EXPECT_EQ(files, 6) << "nothing else is left behind";
}

TEST_F(SnapshotTest, NoneAfterTrainingIfSo) {
  Solver solver(parameter(5, "max_iter: 2 snapshot_after_train: false"), toy_options());
  solver.solve();
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(SnapshotTest, HoldsGradientsIfAsked) {
  for (const bool wanted : {false, true}) {
    Solver solver(parameter(5, wanted ? "snapshot_diff: true" : ""), toy_options());
    solver.step(1);
    solver.snapshot();
    caffe::NetParameter model;
    read_binary(prefix() + "_iter_1.caffemodel", model);
    EXPECT_EQ(model.layer(0).blobs(0).data_size(), 5);
    EXPECT_EQ(model.layer(0).blobs(0).diff_size(), wanted ? 5 : 0);
  }
}

TEST_F(SnapshotTest, StateIsCaffes) {
  Solver solver(parameter(5), toy_options());
  solver.step(4);
  caffe::SolverState state;
  read_binary(solver.snapshot(), state);
  EXPECT_EQ(state.iter(), 4);
  EXPECT_EQ(state.learned_net(), prefix() + "_iter_4.caffemodel");
  ASSERT_EQ(state.history_size(), 3);
  EXPECT_EQ(state.history(0).shape().dim(0), 5);
  EXPECT_EQ(state.history(0).data_size(), 5);
  EXPECT_EQ(state.history(2).data(0), 0) << "statistics have no momentum";
  EXPECT_EQ(state.cortado().ranks(), 1);
  EXPECT_GT(state.cortado().threads(), 0);
}

TEST_F(SnapshotTest, FindsWeightsThatMovedAlong) {
  Solver solver(parameter(5), toy_options());
  solver.step(2);
  const std::string state = solver.snapshot(), model = prefix() + "_iter_2.caffemodel";
  const auto before = parameters_of(solver.net());
  const std::string folder = folder_.file("elsewhere");
  std::filesystem::create_directory(folder);
  std::filesystem::rename(state, folder + "/best.solverstate");
  std::filesystem::rename(model, folder + "/best.caffemodel");
  Solver other(parameter(5), toy_options());
  other.restore(folder + "/best.solverstate");
  EXPECT_EQ(parameters_of(other.net()), before);

  std::filesystem::remove(folder + "/best.caffemodel");
  expect_file_error(folder + "/best.solverstate", 5);
}

TEST_F(SnapshotTest, RefusesBrokenFiles) {
  Solver solver(parameter(), toy_options());
  solver.step(1);
  const std::string state = solver.snapshot(), model = prefix() + "_iter_1.caffemodel";
  expect_file_error(folder_.file("absent.solverstate"));
  expect_file_error(folder_.write("foreign.solverstate", "This is no state.\n"));
  expect_file_error(folder_.write("empty.solverstate", ""));
  for (const double share : {0.97, 0.5, 0.01}) {
    solver.snapshot();
    SCOPED_TRACE(share);
    truncate(state, share);
    expect_file_error(state);
    solver.snapshot();
    truncate(model, share);
    expect_file_error(state);
  }
  solver.snapshot();
  Solver wider(parameter(130), toy_options());
  EXPECT_THROW(wider.restore(state), ShapeError);
}

TEST_F(SnapshotTest, MakesItsFolder) {
  auto elsewhere = parameter(5, "max_iter: 3 snapshot: 3");
  elsewhere.set_snapshot_prefix(folder_.file("new/folder/toy"));
  Solver(elsewhere, toy_options()).solve();
  EXPECT_TRUE(std::filesystem::exists(folder_.file("new/folder/toy_iter_3.caffemodel")));
}

TEST_F(SnapshotTest, RefusesWhatItCannotWrite) {
  auto elsewhere = parameter(5, "max_iter: 3 snapshot: 1");
  elsewhere.set_snapshot_prefix(folder_.write("a_file", "") + "/toy");  // whose folder cannot be made
  Solver solver(elsewhere, toy_options());
  EXPECT_THROW(solver.solve(), FileError);
  EXPECT_EQ(solver.iteration(), 0) << "said before training, not after";
  EXPECT_THROW(solver.snapshot(), FileError);

  Solver nameless(solver_of(std::string(policy) + "max_iter: 3", toy_net(5, 4)), toy_options());
  EXPECT_THROW(nameless.solve(), ConfigError);
}

TEST_F(SnapshotTest, StartsFromListsOfWeights) {
  Solver source(parameter(5), toy_options());
  source.step(3);
  source.snapshot();
  const std::string model = prefix() + "_iter_3.caffemodel";
  auto with_weights = parameter(5);
  with_weights.add_weights(model + " , " + model);
  Solver target(with_weights, toy_options());
  EXPECT_EQ(parameters_of(target.net()), parameters_of(source.net()));
  EXPECT_EQ(target.iteration(), 0);
  with_weights.set_weights(0, folder_.file("absent.caffemodel"));
  EXPECT_THROW(Solver(with_weights, toy_options()), FileError);
}
}  // namespace
}  // namespace cortado::test::snapshot_test
