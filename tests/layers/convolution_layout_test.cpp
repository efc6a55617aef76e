// Convolutions whose bottoms and tops lie in blocks of channels or on planes, by every candidate, against the oracle.
#include <cmath>

#include "tests/layers/convolution_windows.h"
#include "tests/support/results.h"

namespace cortado::test::convolution_layout_test {
namespace {

class ConvolutionLayout : public ::testing::TestWithParam<std::string> {};
class BlockedConvolutions : public ConvolutionLayout {};

/// What a convolution computes, by these candidates.
Results convolved(const std::string& backend, const Window& w, Precision precision, Layout src, const PlanBook& plans) {
  LayerRig rig(backend, layer_of(w), {w.bottom});
  rig.bottom(0).reshape(w.bottom, precision, src);
  rig.layer().choose_plans(plans);
  rig.fill_bottom(0, [](i64 e) { return float(bf16(noise(0, e))); });
  rig.forward();
  const auto layout = plans.find("layout");
  if (layout != plans.end()) { EXPECT_EQ(to_string(rig.top(0).layout()), layout->second); }
  rig.fill_top_diff(0, [](i64 e) { return float(bf16(noise(9, e))); });
  rig.backward();
  return {rig.top(0).data_vector(), rig.bottom(0).diff_vector(), rig.blob(0).diff_vector(), rig.blob(1).diff_vector()};
}

/// Plans of one candidate wherever it takes the shape; empty if it takes it nowhere.
PlanBook plans_of(const std::string& backend, const ConvolutionShape& shape, const ConvolutionCandidate& candidate) {
  PlanBook plans;
  for (const auto direction : convolution_directions)
    if (candidate.plan(group_of(backend), shape, direction).refused.empty())
      plans[to_string(direction)] = candidate.name;
  if (!plans.empty()) plans["layout"] = to_string(shape.dst);
  return plans;
}

TEST_P(BlockedConvolutions, EveryCandidateConvolvesBetweenAllLayouts) {
  const auto layouts_of = [](i64 channels) {
    return channels % block_channels == 0 ? std::vector<Layout>{Layout::nchw, Layout::nchw16c}
                                          : std::vector<Layout>{Layout::nchw};
  };
  for (const auto precision : {Precision::fp32, Precision::bf16}) {
    if (precision == Precision::bf16 && !group_of(GetParam()).spec().bf16) continue;
    const float relative = precision == Precision::bf16 ? 0x1p-6F : 1e-4F;
    int compared = 0;
    for (const Window& w : windows()) {
      const Results planes = convolved(GetParam(), w, precision, Layout::nchw, {{"layout", "nchw"}});
      const float terms = static_cast<float>(w.bottom[1] * 9), absolute = relative * std::sqrt(terms);
      for (const Layout src : layouts_of(w.bottom[1]))
        for (const Layout dst : layouts_of(w.outputs)) {
          if (src == Layout::nchw && dst == Layout::nchw) continue;
          const auto shape = shape_of(GetParam(), w, precision, src, dst);
          if (!shape) continue;
          for (const auto& candidate : convolution_candidates()) {
            SCOPED_TRACE(std::string(w.name) + " " + to_string(src) + " " + to_string(dst) + " " + candidate.name);
            const PlanBook plans = plans_of(GetParam(), *shape, candidate);
            EXPECT_TRUE(plans.empty() || candidate.blocks != ConvolutionCandidate::Blocks::none);
            if (plans.empty()) continue;
            expect_same(convolved(GetParam(), w, precision, src, plans), planes, absolute, 4 * relative);
            ++compared;
          }
        }
    }
    EXPECT_GT(compared, 60);
  }
}

/// `convolved` has what is set where gradients were cleared: once more adds the same.
TEST_P(BlockedConvolutions, WeightGradientsAddUpUntilTheyAreCleared) {
  int compared = 0;
  for (const Window& w : windows())
    for (const Layout layout : {Layout::nchw, Layout::nchw16c}) {
      if (w.bottom[1] % block_channels != 0 || w.outputs % block_channels != 0) continue;
      const auto shape = shape_of(GetParam(), w, Precision::fp32, layout, layout);
      if (!shape) continue;
      for (const auto& candidate : convolution_candidates()) {
        const PlanBook plans = plans_of(GetParam(), *shape, candidate);
        if (plans.count("weight_gradient") == 0 || candidate.name.find(':') != std::string::npos) continue;
        SCOPED_TRACE(std::string(w.name) + " " + to_string(layout) + " " + candidate.name);
        LayerRig rig(GetParam(), layer_of(w), {w.bottom});
        rig.bottom(0).reshape(w.bottom, Precision::fp32, layout);
        rig.layer().choose_plans(plans);
        rig.fill_bottom(0, [](i64 e) { return noise(0, e); });
        rig.forward();
        rig.fill_top_diff(0, [](i64 e) { return noise(9, e); });
        rig.backward({false});
        auto twice = rig.blob(0).diff_vector();
        for (float& gradient : twice) gradient *= 2;
        rig.layer().backward({&rig.top(0)}, {false}, {&rig.bottom(0)});
        expect_near(rig.blob(0).diff_vector(), twice, 1e-4F, 1e-5F);
        ++compared;
      }
    }
  EXPECT_GT(compared, 40);
}

/// Arrays that caches need not keep go past them, where there are such caches.
TEST_P(BlockedConvolutions, DepthwiseIsTheSameWhereItStreams) {
  const Window w{"large", {1, 16, 513, 520}, 16, "kernel_size: 3 pad: 1 group: 16"};
  if (!group_of(GetParam()).spec().outgrows_cache(16 * 513 * 520 * i64{sizeof(float)})) return;
  const auto by = [](const char* candidate) {
    return PlanBook{{"layout", "nchw16c"}, {"forward", candidate}, {"input_gradient", candidate}};
  };
  const Results depthwise = convolved(GetParam(), w, Precision::fp32, Layout::nchw16c, by("depthwise")),
                direct = convolved(GetParam(), w, Precision::fp32, Layout::nchw16c, by("direct"));
  for (const std::size_t i : {0, 1})
    expect_near(depthwise[i], direct[i], 1e-4F, 1e-4F);  // the top, the bottom's gradient
}

TEST_P(BlockedConvolutions, StrassenTakesWholeQuadrants) {
  const auto& all = convolution_candidates();
  const auto& strassen =
      *std::find_if(all.begin(), all.end(), [](const auto& candidate) { return candidate.name == "strassen"; });
  const bool works_from_caches = group_of(GetParam()).spec().works_from_caches();
  int taken = 0;
  for (const Window& w : windows()) {
    if (w.bottom[1] % block_channels != 0 || w.outputs % block_channels != 0) continue;
    const auto shape = shape_of(GetParam(), w, Precision::fp32, Layout::nchw16c, Layout::nchw16c);
    const PlanBook plans = shape ? plans_of(GetParam(), *shape, strassen) : PlanBook{};
    const bool has_quadrants =
        w.bottom[1] % 64 == 0 && w.outputs % 64 == 0 && w.parameter == std::string("kernel_size: 1");
    EXPECT_EQ(plans.size(), has_quadrants && works_from_caches ? 4u : 0u) << w.name;  // three directions, the layout
    taken += has_quadrants ? 1 : 0;
  }
  EXPECT_EQ(taken, 5);
}

/// Where parameters stay what they were, weights changed all the same go unseen.
TEST_P(BlockedConvolutions, StrassenKeepsPackedWeights) {
  LayerRig rig(GetParam(),
               "name: 'c' type: 'Convolution' convolution_param { num_output: 64 kernel_size: 1 bias_term: false }",
               {{2, 128, 5, 3}});
  rig.bottom(0).reshape({2, 128, 5, 3}, Precision::fp32, Layout::nchw16c);
  rig.layer().choose_plans({{"layout", "nchw16c"}, {"forward", "strassen"}});
  rig.fill_bottom(0, [](i64 e) { return noise(0, e); });
  rig.forward();
  const auto outputs = [&](i64 version, float weight) {
    rig.fill_blob(0, [weight](i64) { return weight; });
    rig.run().parameter_version = version;
    rig.layer().forward({&rig.bottom(0)}, {&rig.top(0)});
    return rig.top(0).data_vector();
  };
  const auto ones = outputs(7, 1);
  EXPECT_EQ(outputs(7, 2), ones);
  EXPECT_NE(outputs(8, 2), ones);
  EXPECT_EQ(outputs(9, 1), ones);
}

TEST_P(ConvolutionLayout, WhatCannotLieInBlocksIsRefusedByName) {
  const auto refusal = [&](const char* parameter, const Shape& bottom, const PlanBook& plans) -> std::string {
    try {
      convolved(GetParam(), {"", bottom, 32, parameter}, Precision::fp32, Layout::nchw, plans);
    } catch (const PlanError& error) { return error.what(); }
    return "";
  };
  const auto expect_says = [](const std::string& message, const char* part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect_says(refusal("kernel_size: 3", {1, 16, 8, 8}, {{"layout", "nchw16c"}, {"forward", "explicit"}}), "layer 'c'");
  expect_says(refusal("kernel_size: 3", {1, 16, 8, 8}, {{"layout", "blocks"}}), "no layout is called blocks");
  const std::string possible = refusal("kernel_size: 3", {1, 3, 8, 8}, {{"layout", "nchw16c"}});
  if (group_of(GetParam()).spec().works_from_caches()) {
    EXPECT_EQ(possible, "");
  } else {
    expect_says(possible, "cannot make its tops");
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, ConvolutionLayout, all_backends(), backend_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BlockedConvolutions);
INSTANTIATE_TEST_SUITE_P(Backends, BlockedConvolutions, block_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::convolution_layout_test
