// Nets that are tested before they have learned anything.
#include <gtest/gtest.h>

#include <cmath>

#include "app/session/backend.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/solver/solver.h"
#include "layers/all_layers.h"

namespace cortado::test::untrained_test {
namespace {

/// Its first test divides by nearly nothing in every layer, as ResNet's does: the numbers overflow, training goes on.
TEST(Untrained, BatchNormIsTestedBeforeItHasStatistics) {
  caffe::SolverParameter parameter;
  parse_text("base_lr: 0.01 lr_policy: 'fixed' max_iter: 1 test_iter: 1 test_interval: 1 snapshot_after_train: false",
             "solver", parameter);
  std::string net =
      "layer { name: 'data' type: 'DummyData' top: 'b0' top: 'label' dummy_data_param { shape { dim: 4 dim: 2 } shape "
      "{ "
      "dim: 4 } data_filler { type: 'gaussian' std: 1 } data_filler { value: 1 } } }\n";
  constexpr int depth = 20;
  for (int i = 0; i < depth; ++i)
    net += "layer { name: 'n" + std::to_string(i) + "' type: 'BatchNorm' bottom: 'b" + std::to_string(i) + "' top: 'b" +
           std::to_string(i + 1) + "' }\n";
  net += "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'b" + std::to_string(depth) +
         "' bottom: 'label' top: 'loss' }";
  parse_text(net, "net", *parameter.mutable_net_param());
  const auto processor = make_processor();
  const LayerTable layers = all_layers();
  SolverOptions options;
  options.group = &processor->group(0);
  options.layers = &layers;
  Solver solver(parameter, options);
  solver.solve();
  EXPECT_EQ(solver.iteration(), 1);
  ASSERT_EQ(solver.scores()[0].size(), 1U);
  EXPECT_TRUE(std::isfinite(solver.scores()[0][0].value)) << "after an iteration there are statistics";
}

}  // namespace
}  // namespace cortado::test::untrained_test
