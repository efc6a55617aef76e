// Training with each plan forced, where it can run, gives the losses of the serial context with its default plans.
#include <gtest/gtest.h>

#include <cmath>

#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/net/net.h"
#include "core/solver/solver.h"
#include "layers/all_layers.h"
#include "layers/convolution/candidates.h"
#include "parallel_io/feed/sources.h"
#include "tests/support/backends.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::loss_curves_test {
namespace {

const char* const solver_text = R"(
  base_lr: 0.02 momentum: 0.9 weight_decay: 0.0005 lr_policy: "fixed" random_seed: 3
  net_param {
    layer { name: "data" type: "DummyData" top: "data" top: "label"
      dummy_data_param { shape { dim: 6 dim: 3 dim: 21 dim: 21 } shape { dim: 6 }
        data_filler { type: "gaussian" std: 1 } data_filler { type: "constant" value: 2 } } }
    layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
      convolution_param { num_output: 18 kernel_size: 5 stride: 2 pad: 2 weight_filler { type: "xavier" } } }
    layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
    layer { name: "norm1" type: "LRN" bottom: "conv1" top: "norm1" }
    layer { name: "conv2" type: "Convolution" bottom: "norm1" top: "conv2"
      convolution_param { num_output: 34 kernel_size: 3 pad: 1 group: 2 weight_filler { type: "xavier" } } }
    layer { name: "pool2" type: "Pooling" bottom: "conv2" top: "pool2"
      pooling_param { pool: MAX kernel_size: 3 stride: 2 } }
    layer { name: "conv3" type: "Convolution" bottom: "pool2" top: "conv3"
      convolution_param { num_output: 20 kernel_size: 3 weight_filler { type: "xavier" } } }
    layer { name: "relu3" type: "ReLU" bottom: "conv3" top: "conv3" }
    layer { name: "conv4" type: "Convolution" bottom: "conv3" top: "conv4"
      convolution_param { num_output: 12 kernel_size: 1 weight_filler { type: "xavier" } } }
    layer { name: "pool4" type: "Pooling" bottom: "conv4" top: "pool4"
      pooling_param { pool: AVE kernel_size: 2 stride: 1 } }
    layer { name: "score" type: "InnerProduct" bottom: "pool4" top: "score"
      inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "score" bottom: "label" top: "loss" }
  })";

/// Losses of eight iterations with the named plan in every layer and direction that accepts it; sets `forced` to how
/// many did.
std::vector<double> losses_with(const std::string& backend, const std::string& plan, int& forced,
                                caffe::StoredPrecision precision = caffe::FP32, float loss_scale = 1) {
  caffe::SolverParameter parameter;
  parse_text(solver_text, "solver", parameter);
  parameter.set_precision(precision);
  parameter.set_loss_scale(loss_scale);
  parameter.set_clip_gradients(5);
  const LayerTable layers = all_layers();
  const Sources sources;
  SolverOptions options;
  options.group = &group_of(backend);
  options.layers = &layers;
  options.sources = &sources;
  Solver solver(parameter, options);
  PlanBook book;
  for (const auto& entry : solver.net().layers())
    for (const auto& option : entry.layer->plan_options())
      if (option.candidate == plan && option.refused.empty()) book[entry.layer->name() + "/" + option.direction] = plan;
  solver.net().use_plans(book);
  forced = static_cast<int>(book.size());
  std::vector<double> losses;
  for (int i = 0; i < 8; ++i) {
    solver.step(1);
    losses.push_back(solver.last_loss());
  }
  return losses;
}

class LossCurves : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Backends, LossCurves, all_backends(), backend_name);

TEST_P(LossCurves, AreThoseOfTheReferenceWhateverThePlan) {
  int forced = 0;
  const auto expected = losses_with("reference", "", forced);
  EXPECT_LT(expected.back(), 0.5 * expected.front());
  std::vector<std::string> plans = {"planes", "windows", "rows", "library", "tile_program"};
  for (const auto& candidate : convolution_candidates()) plans.push_back(candidate.name);
  int ran = 0;
  for (const auto& plan : plans) {
    const auto losses = losses_with(GetParam(), plan, forced);
    if (forced == 0) continue;
    ++ran;
    // Winograd rounds as sums of larger values do; errors grow from one iteration to the next.
    const double bound = plan.substr(0, plan.find(':')) == "winograd" ? 2e-3 : 2e-4;
    for (std::size_t i = 0; i < losses.size(); ++i)
      EXPECT_NEAR(losses[i], expected[i], bound * expected[i] + 1e-6) << plan << ", iteration " << i;
  }
  EXPECT_GE(ran, 5);
}

TEST_P(LossCurves, DoNotDependOnTheLossScale) {
  int forced = 0;
  const auto expected = losses_with(GetParam(), "", forced),
             scaled = losses_with(GetParam(), "", forced, caffe::FP32, 64);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(scaled[i], expected[i], 1e-5 * expected.front()) << i;
}

class MixedLossCurves : public ::testing::TestWithParam<std::string> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MixedLossCurves);
INSTANTIATE_TEST_SUITE_P(Backends, MixedLossCurves, bf16_backends(), backend_name);

TEST_P(MixedLossCurves, StayNearThoseOfFloat) {
  int forced = 0;
  const auto expected = losses_with("reference", "", forced);
  for (const std::string plan : {"", "direct", "winograd", "winograd_2x2"}) {
    const auto losses = losses_with(GetParam(), plan, forced, caffe::BF16);
    EXPECT_EQ(forced > 0, !plan.empty());
    for (std::size_t i = 0; i < losses.size(); ++i)
      EXPECT_NEAR(losses[i], expected[i], 0.02 * expected.front()) << plan << ", iteration " << i;
  }
}

}  // namespace
}  // namespace cortado::test::loss_curves_test
