// The nets of models/ train: the small ones learn from generated data, the big ones go forward and backward.
#include <gtest/gtest.h>

#include <cmath>

#include "app/session/backend.h"
#include "core/formats/prototxt.h"
#include "core/solver/solver.h"
#include "layers/all_layers.h"
#include "tests/models/generated_data.h"
#include "tests/models/learning.h"

namespace cortado::test::training_test {
namespace {

/// The machine that the build is for.
CoreGroup& group() {
  static const auto processor = make_processor();
  return processor->group(0);
}

struct Small {
  const char* solver;
  int batch;  ///< of nets that read data
  int iterations;
  double falls_to;  ///< share of the first losses that is left at the end, at most
};

const Small small_nets[] = {
    {"lenet/digits_solver", 32, 60, 0.8},
    {"mnist_mlp/digits_solver", 32, 60, 0.9},
    {"cifar10_quick/digits_solver", 32, 80, 0.8},
    {"cifar10_full/digits_solver", 32, 150, 0.97},
    {"autoencoder/digits_solver", 32, 30, 0.8},
    {"siamese/digits_solver", 64, 60, 0.9},
    {"lstm/solver", 0, 150, 0.4},
};

class SmallNets : public ::testing::TestWithParam<Small> {};

TEST_P(SmallNets, LearnFromGeneratedData) {
  static const GeneratedData data(1000);
  caffe::SolverParameter parameter;
  read_solver(std::string("models/") + GetParam().solver + ".prototxt", parameter);
  read_net(parameter.net(), *parameter.mutable_net_param());
  parameter.clear_net();
  data.feed(*parameter.mutable_net_param(), GetParam().batch);
  parameter.set_test_initialization(false);
  parameter.set_test_interval(1000);
  parameter.set_test_iter(0, 1);
  Solver solver(parameter, learner_options(group()));
  expect_learns(solver, GetParam().iterations, GetParam().iterations / 6, GetParam().falls_to);
  solver.test();
  for (const auto& score : solver.scores().at(0)) EXPECT_TRUE(std::isfinite(score.value)) << score.name;
}

INSTANTIATE_TEST_SUITE_P(Models, SmallNets, ::testing::ValuesIn(small_nets), [](const auto& of) {
  const std::string solver = of.param.solver;
  return solver.substr(0, solver.find('/'));
});

class BigNets : public ::testing::TestWithParam<const char*> {};

TEST_P(BigNets, GoForwardAndBackward) {
  caffe::NetParameter parameter;
  read_net(std::string("models/") + GetParam() + "/train_val.prototxt", parameter);
  parameter.mutable_state()->set_phase(caffe::TRAIN);
  for (auto& shape : *parameter.mutable_layer(0)->mutable_dummy_data_param()->mutable_shape()) shape.set_dim(0, 2);
  const LayerTable layers = all_layers();
  NetOptions options;
  options.group = &group();
  options.layers = &layers;
  Net net(parameter, options);
  net.forward();
  const double loss = net.loss();
  EXPECT_TRUE(std::isfinite(loss) && loss > 0) << loss;
  net.clear_gradients();
  net.backward();
  options.group->wait();
  for (const auto& learnable : net.learnable()) {
    if (learnable.statistic) continue;
    double sum = 0;
    for (const float g : learnable.blob->diff_vector()) sum += std::fabs(double{g});
    EXPECT_TRUE(std::isfinite(sum) && sum > 0) << "gradient " << learnable.index << " of " << learnable.layer;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, BigNets,
                         ::testing::Values("alexnet", "alexnet_bn", "caffenet", "googlenet", "resnet50", "vgg16",
                                           "vgg19"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace cortado::test::training_test
