#include "core/solver/solver_parameter.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/toy_solver.h"

namespace cortado::test::solver_parameter_test {
namespace {
constexpr const char* rates = "base_lr: 0.1 lr_policy: 'fixed' ";

caffe::SolverParameter parameter_of(const std::string& text) {
  caffe::SolverParameter parameter;
  parse_text(text, "solver", parameter);
  return parameter;
}

TEST(SolverParameter, RefusesWhatCannotBe) {
  const char* wrong[] = {
      "type: 'Sgd'",
      "iter_size: 0",
      "average_loss: 0",
      "max_iter: -1",
      "weight_decay: inf",
      "momentum: nan",
      "clip_gradients: nan",
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

TEST(SolverParameter, NamesWhatATypeCannotHave) {
  const std::pair<const char*, const char*> wrong[] = {
      {"type: 'AdaGrad' momentum: 0.9", "AdaGrad' takes no momentum"},
      {"solver_type: ADAGRAD momentum: 0.9", "AdaGrad' takes no momentum"},
      {"type: 'AdaGrad' delta: -1", "delta"},
      {"type: 'RMSProp' momentum: 0.9", "RMSProp' takes no momentum"},
      {"type: 'RMSProp' rms_decay: 1", "rms_decay"},
      {"type: 'RMSProp' rms_decay: -0.1", "rms_decay"},
      {"type: 'AdaDelta' momentum: 1", "momentum"},
      {"type: 'AdaDelta' momentum: 0.9 delta: 0", "delta above 0"},
      {"type: 'Adam' momentum: 1", "momentum"},
      {"type: 'Adam' momentum: 0.9 momentum2: 1", "momentum2"},
      {"type: 'Adam' momentum: 0.9 delta: -1e-8", "delta"},
      {"type: 'LARS' trust_coefficient: 0", "trust_coefficient"},
      {"type: 'LARS' regularization_type: 'L1'", "L2"},
  };
  for (const auto& [text, told] : wrong) try {
      check_solver(parameter_of(rates + std::string(text)));
      ADD_FAILURE() << text;
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find(told), std::string::npos) << text << ": " << error.what();
    }
}

TEST(SolverParameter, TakesEveryType) {
  for (const char* text : {"solver_type: NESTEROV momentum: 0.9", "type: 'AdaGrad'", "type: 'RMSProp' rms_decay: 0",
                           "type: 'AdaDelta' momentum: 0.95 delta: 1e-6", "type: 'Adam' momentum: 0", "type: 'LARS'"})
    EXPECT_NO_THROW(check_solver(parameter_of(rates + std::string(text)))) << text;
}

TEST(SolverParameter, SaysWhichTypesThereAre) {
  try {
    check_solver(parameter_of(rates + std::string("type: 'Adadelta'")));
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(
        std::string(error.what()).find("there is: SGD, Nesterov, AdaGrad, RMSProp, AdaDelta, Adam, AdamW, LARS, LAMB"),
        std::string::npos);
  }
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
}  // namespace cortado::test::solver_parameter_test
