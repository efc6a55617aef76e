#include "core/solver/solver_parameter.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/toy_solver.h"

namespace cortado::test {
namespace {
constexpr const char* rates = "base_lr: 0.1 lr_policy: 'fixed' ";

caffe::SolverParameter parameter_of(const std::string& text) {
  caffe::SolverParameter parameter;
  parse_text(text, "solver", parameter);
  return parameter;
}

TEST(SolverParameter, RefusesWhatCannotBe) {
  const char* wrong[] = {
      "type: 'Adam'",
      "type: 'Sgd'",
      "solver_type: ADAM",
      "iter_size: 0",
      "average_loss: 0",
      "max_iter: -1",
      "regularization_type: 'L3'",
      "snapshot: 10",
      "test_iter: 5",
      "test_net: 'a' test_net: 'b' test_iter: 5 test_interval: 1",
      "net: 'a' test_net: 'b' test_net: 'c' test_iter: 5 test_interval: 1",
      "net: 'a' test_iter: 5",
      "net: 'a' test_iter: 0 test_interval: 1",
      "net: 'a' test_iter: 5 test_iter: 6 test_interval: 1 test_state { }",
  };
  for (const char* text : wrong)
    EXPECT_THROW(check_solver(parameter_of(rates + std::string(text))), ConfigError) << text;
  EXPECT_NO_THROW(check_solver(parameter_of(rates + std::string("solver_type: SGD net: 'a'"))));
}

TEST(SolverParameter, SaysWhichTypesThereAre) {
  try {
    check_solver(parameter_of(rates + std::string("type: 'AdaDelta'")));
    FAIL();
  } catch (const ConfigError& error) { EXPECT_NE(std::string(error.what()).find("there is: SGD"), std::string::npos); }
}

TEST(SolverParameter, FindsTheTrainingNet) {
  const TemporaryFolder folder;
  const auto file = folder.write("a.prototxt", "name: 'from file'");
  for (const std::string field : {"net", "train_net"}) {
    const auto named = training_net(parameter_of(field + ": '" + file + "'"));
    EXPECT_EQ(named.net.name(), "from file");
    EXPECT_EQ(named.source, field + " file: " + file);
    EXPECT_EQ(named.net.state().phase(), caffe::TRAIN);
  }
  for (const std::string field : {"net_param", "train_net_param"}) {
    const auto named = training_net(parameter_of(field + " { name: 'inline' }"));
    EXPECT_EQ(named.net.name(), "inline");
    EXPECT_EQ(named.source, field);
  }
  EXPECT_THROW(training_net(parameter_of("")), ConfigError);
  EXPECT_THROW(training_net(parameter_of("net: 'a' train_net: 'b'")), ConfigError);
  EXPECT_THROW(training_net(parameter_of("net: '" + folder.file("absent") + "'")), FileError);
}

TEST(SolverParameter, StatesGoOverOneAnother) {
  const auto named = training_net(
      parameter_of("net_param { state { level: 1 stage: 'own' } } train_state { level: 2 stage: 'more' }"));
  EXPECT_EQ(named.net.state().level(), 2);
  ASSERT_EQ(named.net.state().stage_size(), 2);
  EXPECT_EQ(named.net.state().stage(1), "more");
  const auto tests =
      test_nets(parameter_of("net_param { state { level: 1 } } test_iter: 1 test_iter: 1 test_interval: 1 "
                             "test_state { stage: 'a' } test_state { level: 3 }"));
  ASSERT_EQ(tests.size(), 2u);
  EXPECT_EQ(tests[0].net.state().phase(), caffe::TEST);
  EXPECT_EQ(tests[0].net.state().level(), 1);
  EXPECT_EQ(tests[0].net.state().stage(0), "a");
  EXPECT_EQ(tests[1].net.state().level(), 3);
}

TEST(SolverParameter, TestNetsComeInCaffesOrder) {
  const TemporaryFolder folder;
  const auto generic = folder.write("generic.prototxt", "name: 'generic'");
  const auto file = folder.write("file.prototxt", "name: 'file'");
  const auto nets = test_nets(parameter_of("net: '" + generic + "' test_net: '" + file +
                                           "' test_net_param { name: 'inline' } "
                                           "test_iter: 1 test_iter: 2 test_iter: 3 test_iter: 4 test_interval: 1"));
  ASSERT_EQ(nets.size(), 4u);
  EXPECT_EQ(nets[0].net.name(), "inline");
  EXPECT_EQ(nets[1].net.name(), "file");
  EXPECT_EQ(nets[2].net.name(), "generic");
  EXPECT_EQ(nets[3].net.name(), "generic");
  EXPECT_TRUE(test_nets(parameter_of("net: '" + generic + "'")).empty());
}

TEST(SolverParameter, SeveralTestNetsAreScoredApart) {
  const auto parameter = solver_of(
      std::string(rates) + "test_iter: 1 test_iter: 2 test_interval: 10 test_net_param { " + toy_net(3, 5) + " }",
      toy_net(3, 2));
  Solver solver(parameter, toy_options());
  solver.test();
  ASSERT_EQ(solver.scores().size(), 2u);
  EXPECT_EQ(solver.scores()[0].size(), 2u);
  EXPECT_NE(solver.scores()[0][1].value, solver.scores()[1][1].value);
}
}  // namespace
}  // namespace cortado::test
