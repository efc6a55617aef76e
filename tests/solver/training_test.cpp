// The course of training: actions, tests, what the log says, losses that are not finite.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <regex>
#include <sstream>

#include "core/base/error.h"
#include "tests/support/layer_rig.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/toy_solver.h"

namespace cortado::test::training_test {
namespace {
constexpr const char* rates = "base_lr: 0.05 lr_policy: 'fixed' momentum: 0.9 ";
constexpr const char* quiet = "snapshot_after_train: false ";

/// An action that is asked for at the `at`-th question, counting from 1.
std::function<SolverAction()> action_at(int at, SolverAction action) {
  return [asked = 0, at, action]() mutable { return ++asked == at ? action : SolverAction::none; };
}

/// Lines of the log of `work`, without their prefixes.
template <class Work>
std::vector<std::string> log_of(Work work) {
  ::testing::internal::CaptureStderr();
  work();
  std::istringstream text(::testing::internal::GetCapturedStderr());
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

/// Lines that match `pattern` after glog's prefix, from any of the solver's files.
int matches(const std::vector<std::string>& lines, const std::string& pattern) {
  const std::regex expected(R"([IWE]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ \w+\.cpp:\d+\] )" + pattern);
  int count = 0;
  for (const std::string& line : lines) count += std::regex_match(line, expected);
  return count;
}

/// Trains to the end, writing to `folder`, with `action` asked for at iteration 3.
std::unique_ptr<Solver> solved(const TemporaryFolder& folder, SolverAction action, const std::string& limits) {
  auto options = toy_options();
  options.action = action_at(3, action);
  auto solver = std::make_unique<Solver>(
      solver_of(rates + limits + " snapshot_prefix: '" + folder.file("toy") + "'", toy_net(5, 2)), options);
  solver->solve();
  return solver;
}

TEST(Training, StopsWhenAskedAndSnapshots) {
  const TemporaryFolder folder;
  const auto solver = solved(folder, SolverAction::stop, "max_iter: 10");
  EXPECT_TRUE(solver->stopped_early());
  EXPECT_EQ(solver->iteration(), 3);
  EXPECT_TRUE(std::filesystem::exists(folder.file("toy_iter_3.solverstate")));
}

TEST(Training, SnapshotsWhenAskedAndGoesOn) {
  const TemporaryFolder folder;
  const auto solver = solved(folder, SolverAction::snapshot, "max_iter: 5 snapshot_after_train: false");
  EXPECT_FALSE(solver->stopped_early());
  EXPECT_EQ(solver->iteration(), 5);
  EXPECT_TRUE(std::filesystem::exists(folder.file("toy_iter_3.solverstate")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("toy_iter_5.solverstate")));
}

TEST(Training, StopsInTheMiddleOfATest) {
  auto options = toy_options();
  options.action = action_at(2, SolverAction::stop);
  const auto text = rates + std::string(quiet) + "max_iter: 5 test_iter: 4 test_interval: 2";
  Solver solver(solver_of(text, toy_net(5, 2)), options);
  solver.solve();
  EXPECT_TRUE(solver.stopped_early());
  EXPECT_EQ(solver.iteration(), 0);
  EXPECT_TRUE(solver.scores()[0].empty());
}

TEST(Training, NamesTheLayerWhereNumbersEnd) {
  const auto net = toy_net(5, 2, "threshold_param { threshold: 8 }");
  Solver solver(solver_of(rates, net), toy_options());
  solver.step(4);  // samples 0 to 7
  try {
    solver.step(1);
    FAIL() << "a loss of NaN went unnoticed";
  } catch (const NumericError& error) {
    EXPECT_NE(std::string(error.what()).find("layer 'toy'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("iteration 4"), std::string::npos) << error.what();
  }
  for (const float value :
       parameters_of(solver.net()).empty() ? std::vector<float>{} : solver.net().learnable()[0].blob->data_vector())
    EXPECT_TRUE(std::isfinite(value)) << "the update must not happen";
}

TEST(Training, CallsBackInEachIteration) {
  const auto text = rates + std::string("iter_size: 2 test_iter: 1 test_interval: 1 test_initialization: true");
  Solver plain(solver_of(text, toy_net(5, 2)), toy_options()), called(solver_of(text, toy_net(5, 2)), toy_options());
  std::string calls;
  const auto note = [&](const char* what) { return [&calls, what] { calls += what; }; };
  called.add_callback({note("s"), note("g")});
  plain.step(3);
  called.step(3);
  EXPECT_EQ(calls, "sgsgsg");
  EXPECT_EQ(parameters_of(called.net()), parameters_of(plain.net()));

  // A gradient that a callback writes is the one that counts; one that is added in a callback is called too.
  std::vector<float> before;
  called.add_callback({[&] { before = parameters_of(called.net()); },
                       [&, has_added = false]() mutable {
                         for (const auto& learnable : called.net().learnable()) learnable.blob->zero_diff();
                         if (!has_added) called.add_callback({note("t"), note("h")});
                         has_added = true;
                       }});
  calls.clear();
  called.step(1);
  EXPECT_EQ(calls, "sgh");
  called.step(1);
  EXPECT_EQ(calls, "sghstgh");
  const auto moved = parameters_of(called.net());  // by momentum alone
  called.step(1);
  EXPECT_EQ(before, moved);
}

TEST(Training, TestsShareWeightsAndAverage) {
  const auto text = rates + std::string("test_iter: 3 test_interval: 100 test_compute_loss: true");
  Solver solver(solver_of(text, toy_net(4, 2)), toy_options());
  solver.step(5);
  solver.test();
  ASSERT_EQ(solver.scores().size(), 1u);
  const auto& scores = solver.scores()[0];
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_EQ(scores[0].name, "loss");
  EXPECT_EQ(scores[0].loss_weight, 1);
  EXPECT_EQ(scores[1].name, "score");
  double mean = 0;
  for (i64 i = 0; i < 3 * 2 * 4; ++i) mean += double{noise(7, i)} / (3 * 2 * 4);
  EXPECT_NEAR(scores[1].value, mean, 1e-6) << "passes 0 to 2 of the test net";

  // The training net's loss on the same samples, by hand.
  Solver again(solver_of(text, toy_net(4, 6)), toy_options());
  for (std::size_t i = 0; i < 2; ++i)
    again.net().learnable()[i].blob->write_data(solver.net().learnable()[i].blob->data_vector().data());
  again.net().run().pass = 0;
  again.net().forward();
  EXPECT_NEAR(scores[0].value, again.net().loss(), 1e-5);
  const auto first = scores;
  solver.test();
  EXPECT_EQ(solver.scores()[0][0].value, first[0].value) << "a test always sees the same samples";
}

TEST(Training, SmoothsTheLossThatItShows) {
  const auto text = rates + std::string("display: 1 average_loss: 3 max_iter: 5 ") + quiet;
  Solver plain(solver_of(rates, toy_net(5, 2)), toy_options());
  std::vector<double> losses;
  for (int i = 0; i < 5; ++i) {
    plain.step(1);
    losses.push_back(plain.last_loss());
  }
  Solver solver(solver_of(text, toy_net(5, 2)), toy_options());
  const auto lines = log_of([&] { solver.solve(); });
  const double expected[] = {losses[0], (losses[0] + losses[1]) / 2, (losses[0] + losses[1] + losses[2]) / 3,
                             (losses[1] + losses[2] + losses[3]) / 3, (losses[2] + losses[3] + losses[4]) / 3};
  const std::regex shown(R"(.*\] Iteration (\d+) \(.*, loss = (\S+))");
  int found = 0;
  for (const std::string& line : lines)
    if (std::smatch match; std::regex_match(line, match, shown)) {
      EXPECT_NEAR(std::stod(match[2]), expected[std::stoi(match[1])], 1e-4);
      ++found;
    }
  EXPECT_EQ(found, 5);
  EXPECT_EQ(solver.last_loss(), losses[4]) << "last_loss is not smoothed";
}

TEST(Training, LogsCaffesLines) {
  const TemporaryFolder folder;
  const auto prefix = folder.file("toy");
  const auto text = rates + ("display: 2 max_iter: 4 test_iter: 2 test_interval: 2 test_compute_loss: true "
                             "snapshot_prefix: '" +
                             prefix + "'");
  const auto lines = log_of([&] {
    Solver solver(solver_of(text, toy_net(5, 2)), toy_options());
    solver.solve();
    solver.restore(prefix + "_iter_4.solverstate");
  });
  const std::string number = R"([-+.eE\d]+)";
  EXPECT_EQ(matches(lines, "Solving toy"), 1);
  EXPECT_EQ(matches(lines, "Learning Rate Policy: fixed"), 1);
  EXPECT_EQ(matches(lines, "Iteration [02] \\(" + number + " iter/s, " + number + "s/2 iters\\), loss = " + number), 2);
  EXPECT_EQ(matches(lines, "Iteration [02], lr = 0.05"), 2);
  EXPECT_EQ(matches(lines, "    Train net output #0: loss = " + number + " \\(\\* 1 = " + number + " loss\\)"), 2);
  EXPECT_EQ(matches(lines, "    Train net output #1: score = " + number), 2);
  EXPECT_EQ(matches(lines, "Iteration [024], Testing net \\(#0\\)"), 3);
  EXPECT_EQ(matches(lines, "Test loss: " + number), 3);
  EXPECT_EQ(matches(lines, "    Test net output #0: loss = " + number + " \\(\\* 1 = " + number + " loss\\)"), 3);
  EXPECT_EQ(matches(lines, "    Test net output #1: score = " + number), 3);
  EXPECT_EQ(matches(lines, "Snapshotting to binary proto file .*toy_iter_4\\.caffemodel"), 1);
  EXPECT_EQ(matches(lines, "Snapshotting solver state to binary proto file .*toy_iter_4\\.solverstate"), 1);
  EXPECT_EQ(matches(lines, "Iteration 4, loss = " + number), 1);
  EXPECT_EQ(matches(lines, "Optimization Done\\."), 1);
  EXPECT_EQ(matches(lines, "Restoring previous solver status from .*toy_iter_4\\.solverstate"), 1);
}

TEST(Training, TellsProgress) {
  auto options = toy_options();
  std::vector<SolverOptions::Progress> told;
  options.progress = [&](const SolverOptions::Progress& progress) { told.push_back(progress); };
  Solver solver(solver_of(rates + std::string("max_iter: 3 ") + quiet, toy_net(5, 2)), options);
  solver.solve();
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[0].iteration, 1);
  EXPECT_EQ(told[2].iteration, 3);
  EXPECT_EQ(told[2].max_iterations, 3);
  EXPECT_EQ(told[2].loss, solver.last_loss());
}
}  // namespace
}  // namespace cortado::test::training_test
