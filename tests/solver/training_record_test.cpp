#include "core/solver/training_record.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/toy_solver.h"

namespace cortado::test::training_record_test {
namespace {

/// Keeps what it is told, and throws at an iteration.
class Notes : public TrainingRecord {
 public:
  void begin(const Net& net, i64 iteration) override {
    text += "begin " + net.name() + " " + std::to_string(iteration);
  }
  void trained(const Iteration& iteration) override {
    if (iteration.number == fails_at) throw FileError("record", "is full");
    iterations.push_back(iteration.number);
    losses.push_back(iteration.loss);
    text += (iteration.outputs != nullptr ? "; shown " : "; ") + std::to_string(iteration.number);
    EXPECT_EQ(iteration.outputs != nullptr, iteration.smoothed_loss != nullptr);
    EXPECT_GE(iteration.seconds, iteration.waited_for_ranks + iteration.exchanged);
    EXPECT_GT(iteration.rate, 0);
  }
  void tested(i64 iteration, std::size_t net, double, const std::vector<OutputScore>& outputs) override {
    text += "; test " + std::to_string(net) + " " + std::to_string(iteration);
    EXPECT_FALSE(outputs.empty());
  }
  void end(i64 iteration, bool early) override { text += (early ? "; early " : "; end ") + std::to_string(iteration); }

  std::string text;
  std::vector<i64> iterations;
  std::vector<double> losses;
  i64 fails_at = -1;
};

class TrainingRecordTest : public ::testing::Test {
 protected:
  caffe::SolverParameter parameter(const std::string& more) const {
    return solver_of("base_lr: 0.05 lr_policy: 'fixed' " + more + " snapshot_prefix: '" + folder_.file("toy") + "' ",
                     toy_net(5, 4));
  }
  TemporaryFolder folder_;
};

TEST_F(TrainingRecordTest, IsToldAllIterationsAndTestsInTheirOrder) {
  Notes notes;
  SolverOptions options = toy_options();
  options.record = &notes;
  Solver solver(parameter("max_iter: 4 display: 2 test_iter: 1 test_interval: 3 snapshot: 2"), options);
  solver.solve();
  const std::string name = solver.net().name();
  EXPECT_EQ(notes.text, "begin " + name + " 0; test 0 0; shown 0; 1; shown 2; test 0 3; 3; end 4");

  Notes rest;
  options.record = &rest;
  Solver resumed(parameter("max_iter: 4 display: 2 snapshot: 2"), options);
  resumed.restore(folder_.file("toy_iter_2.solverstate"));
  resumed.solve();
  EXPECT_EQ(rest.text, "begin " + name + " 2; shown 2; 3; end 4");
  EXPECT_EQ(rest.losses, std::vector<double>(notes.losses.begin() + 2, notes.losses.end()));
}

TEST_F(TrainingRecordTest, HearsNothingOfStepsOutsideSolve) {
  Notes notes;
  SolverOptions options = toy_options();
  options.record = &notes;
  Solver solver(parameter("max_iter: 4 test_iter: 1 test_interval: 3"), options);
  solver.step(2);
  solver.test();
  EXPECT_EQ(notes.text, "");
}

TEST_F(TrainingRecordTest, ErrorsEndTheTraining) {
  Notes notes;
  notes.fails_at = 1;
  SolverOptions options = toy_options();
  options.record = &notes;
  Solver solver(parameter("max_iter: 4"), options);
  EXPECT_THROW(solver.solve(), FileError);
  EXPECT_EQ(notes.iterations, std::vector<i64>({0}));
}

TEST_F(TrainingRecordTest, SaysThatASignalStoppedIt) {
  Notes notes;
  SolverOptions options = toy_options();
  options.record = &notes;
  int asked = 0;
  options.action = [&] { return ++asked == 2 ? SolverAction::stop : SolverAction::none; };
  Solver solver(parameter("max_iter: 9"), options);
  solver.solve();
  EXPECT_EQ(notes.text.substr(notes.text.rfind(';')), "; early 2");
}

}  // namespace
}  // namespace cortado::test::training_record_test
