// Convolutions whose bottoms and tops lie in blocks of channels or on planes, by every candidate, against the oracle.
#include <cmath>
#include <optional>

#include "core/base/error.h"
#include "core/base/layout.h"
#include "layers/convolution/convolution.h"
#include "tests/support/results.h"

namespace cortado::test {
namespace {

class ConvolutionLayout : public ::testing::TestWithParam<std::string> {};
class BlockedConvolutions : public ConvolutionLayout {};

struct Window {
  const char* name;
  Shape bottom;
  i64 outputs;
  const char* parameter;
};

const std::vector<Window>& windows() {
  static const std::vector<Window> all = {
      {"one_by_one", {2, 32, 9, 7}, 48, "kernel_size: 1"},
      {"one_by_one_stride2", {3, 16, 9, 8}, 64, "kernel_size: 1 stride: 2"},
      {"one_by_one_padded", {2, 16, 5, 5}, 16, "kernel_size: 1 pad: 1"},
      {"three_by_three", {2, 48, 14, 15}, 32, "kernel_size: 3 pad: 1"},
      {"seven_pixels", {5, 64, 7, 7}, 96, "kernel_size: 3 pad: 1"},
      {"stride2", {2, 32, 15, 14}, 16, "kernel_size: 3 stride: 2 pad: 1"},
      {"five_by_five", {1, 16, 12, 67}, 32, "kernel_size: 5 pad: 2"},
      {"eleven_stride4", {1, 16, 27, 31}, 16, "kernel_size: 11 stride: 4"},
      {"stride_beyond_the_kernel", {2, 16, 11, 13}, 32, "kernel_size: 2 stride: 4"},
      {"rectangle", {1, 32, 9, 12}, 16, "kernel_h: 3 kernel_w: 5 stride_h: 2 stride_w: 1 pad_h: 0 pad_w: 2"},
      {"groups", {2, 64, 8, 9}, 32, "kernel_size: 3 pad: 1 group: 2"},
      {"depthwise", {2, 48, 9, 11}, 48, "kernel_size: 3 pad: 1 group: 48"},
      {"depthwise_five_stride2", {3, 32, 9, 8}, 32, "kernel_size: 5 stride: 2 pad: 2 group: 32"},
      {"depthwise_beyond_two_strides", {1, 16, 13, 15}, 16, "kernel_size: 3 stride: 3 pad: 1 group: 16"},
      {"depthwise_row", {2, 16, 3, 21}, 16, "kernel_h: 1 kernel_w: 5 pad_h: 0 pad_w: 2 group: 16"},
      {"depthwise_dilated", {2, 16, 12, 9}, 16, "kernel_size: 3 dilation: 2 pad: 2 group: 16"},
      {"depthwise_times_two", {2, 16, 9, 8}, 32, "kernel_size: 3 pad: 1 group: 16"},
      {"groups_of_two", {2, 32, 9, 11}, 32, "kernel_size: 3 pad: 1 group: 16"},
      {"groups_of_three", {2, 48, 7, 9}, 48, "kernel_size: 3 pad: 1 group: 16"},
      {"groups_of_four", {1, 48, 13, 10}, 48, "kernel_size: 3 pad: 1 group: 12"},
      {"groups_of_four_stride2", {3, 32, 9, 8}, 32, "kernel_size: 3 stride: 2 pad: 1 group: 8"},
      {"groups_of_six_that_grow", {1, 48, 8, 8}, 96, "kernel_size: 3 stride: 2 pad: 1 group: 8"},
      {"groups_of_eight_five_by_five", {1, 16, 9, 14}, 16, "kernel_size: 5 pad: 2 group: 2"},
      {"groups_of_eight_row", {2, 32, 5, 19}, 32, "kernel_h: 1 kernel_w: 7 pad_h: 0 pad_w: 3 group: 4"},
      {"groups_of_twenty_four_dilated", {2, 48, 7, 8}, 48, "kernel_size: 3 dilation: 2 pad: 2 group: 2"},
      {"dilated", {2, 32, 12, 11}, 48, "kernel_size: 3 dilation: 3 pad: 3"},
      {"dilated_stride2", {1, 16, 13, 12}, 32, "kernel_size: 3 dilation: 2 stride: 2 pad: 2"},
      {"winograd_edges", {2, 32, 15, 69}, 16, "kernel_size: 3 pad_h: 0 pad_w: 2"},
      {"one_image_row", {1, 16, 1, 40}, 16, "kernel_h: 1 kernel_w: 3"},
      {"more_channels_than_a_slice", {2, 528, 4, 5}, 272, "kernel_size: 1"},
      {"quadrants", {5, 64, 7, 7}, 128, "kernel_size: 1"},
      {"quadrants_of_one_image", {1, 128, 5, 3}, 64, "kernel_size: 1"},
      {"quadrants_of_an_image", {1, 64, 1, 339}, 64, "kernel_size: 1"},
      {"quadrants_in_slices", {1, 1088, 2, 3}, 64, "kernel_size: 1"},
      {"quadrants_shared_out", {1, 64, 2, 2}, 1088, "kernel_size: 1"},
      {"three_inputs", {2, 3, 17, 19}, 32, "kernel_size: 7 stride: 2 pad: 3"},
      {"ten_outputs", {2, 32, 8, 7}, 10, "kernel_size: 3"},
  };
  return all;
}

std::string layer_of(const Window& w) {
  return std::string("name: 'c' type: 'Convolution' bottom: 'x' convolution_param { ") + w.parameter +
         " num_output: " + std::to_string(w.outputs) +
         " weight_filler { type: 'uniform' min: -1 max: 1 } bias_filler { type: 'uniform' } }";
}

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

/// The shape of a convolution between these layouts; none where whole blocks of a large kernel's weights do not fit a
/// scratchpad.
std::optional<ConvolutionShape> shape_of(const std::string& backend, const Window& w, Precision precision, Layout src,
                                         Layout dst) {
  LayerRig rig(backend, layer_of(w), {w.bottom});
  rig.bottom(0).reshape(w.bottom, precision, src);
  rig.layer().choose_plans({{"layout", to_string(dst)}});
  try {
    rig.forward();
  } catch (const PlanError&) { return {}; }
  return static_cast<const ConvolutionLayer&>(rig.layer()).shape();
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

/// Sums over each channel of images in blocks, as hosts see them, and over the squares.
std::vector<double> channel_sums(const Blob& images) {
  const auto values = images.data_vector();
  const i64 channels = images.dim(1), pixels = images.count(2);
  std::vector<double> sums(static_cast<std::size_t>(2 * channels));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto channel = static_cast<std::size_t>(static_cast<i64>(i) / pixels % channels);
    sums[channel] += values[i];
    sums[channel + static_cast<std::size_t>(channels)] += double{values[i]} * double{values[i]};
  }
  return sums;
}

/// The sums that a candidate leaves, of all parts together, when it convolves the rig's bottom to its top.
std::vector<double> sums_left(LayerRig& rig, const ConvolutionCandidate& candidate, const ConvolutionShape& shape) {
  CoreGroup& group = rig.top(0).group();
  const auto bytes = [](i64 floats) { return static_cast<std::size_t>(floats) * sizeof(float); };
  const ConvolutionPlan plan = candidate.plan(group, shape, ConvolutionDirection::forward);
  const i64 parts = plan.partial_sums, values = 2 * shape.oc;
  EXPECT_GT(parts, 0);
  const ClusterMemory left(group, bytes(parts * values)), work(group, bytes(plan.workspace));
  with_element(shape.precision, [&](auto element) {
    using T = decltype(element);
    ConvolutionArguments arguments{rig.bottom(0).data<T>(), rig.blob(0).data(), nullptr, rig.top(0).mutable_data<T>()};
    arguments.sums = left.as<float>();
    plan.run(group, arguments, work.as<float>());
  });
  std::vector<float> host(static_cast<std::size_t>(parts * values));
  group.copy(host.data(), left.as<float>(), bytes(parts * values));
  group.wait();
  std::vector<double> sums(static_cast<std::size_t>(values));
  for (std::size_t i = 0; i < host.size(); ++i) sums[i % sums.size()] += double{host[i]};
  return sums;
}

TEST_P(BlockedConvolutions, CandidatesLeaveSumsOverWhatTheyMake) {
  for (const auto precision : {Precision::fp32, Precision::bf16}) {
    if (precision == Precision::bf16 && !group_of(GetParam()).spec().bf16) continue;
    int compared = 0;
    for (const Window& w : windows()) {
      if (w.outputs % block_channels != 0) continue;
      LayerRig rig(GetParam(), layer_of(w), {w.bottom});
      rig.bottom(0).reshape(w.bottom, precision);
      rig.layer().choose_plans({{"layout", "nchw16c"}});
      rig.fill_bottom(0, [](i64 e) { return float(bf16(noise(0, e))); });
      try {
        rig.forward();
      } catch (const PlanError&) { continue; }
      const ConvolutionShape& shape = static_cast<const ConvolutionLayer&>(rig.layer()).shape();
      for (const auto& candidate : convolution_candidates()) {
        if (!candidate.plan(rig.top(0).group(), shape, ConvolutionDirection::forward).refused.empty()) continue;
        SCOPED_TRACE(std::string(w.name) + " " + candidate.name);
        const auto left = sums_left(rig, candidate, shape), expected = channel_sums(rig.top(0));
        ASSERT_EQ(left.size(), expected.size());
        // Sums are over values before they are rounded for storage, each by at most 2^-8 of itself.
        const double rounding = precision == Precision::bf16 ? 0x1p-7 : 1e-5;
        const auto channels = static_cast<std::size_t>(shape.oc);
        for (std::size_t k = 0; k < channels; ++k) {
          const double squares = expected[channels + k], values = static_cast<double>(shape.mb * shape.pixels());
          EXPECT_NEAR(left[k], expected[k], rounding * std::sqrt(squares * values));
          EXPECT_NEAR(left[channels + k], squares, rounding * squares);
        }
        ++compared;
      }
    }
    EXPECT_GT(compared, 20);
  }
}

/// The top of a forward by this candidate. `map` has scales and biases for each channel, [2][channels], that it
/// accepts.
std::vector<float> top_of(const std::string& backend, const Window& w, Precision precision, const PlanBook& plans,
                          const Blob* map) {
  LayerRig rig(backend, layer_of(w), {w.bottom});
  rig.bottom(0).reshape(w.bottom, precision, Layout::nchw);
  rig.layer().choose_plans(plans);
  rig.fill_bottom(0, [](i64 e) { return float(bf16(noise(0, e))); });
  if (map != nullptr) {
    const auto values = [map] { return epilogue::FixedMap::Values{map->data(), map->data() + map->count(1)}; };
    EXPECT_TRUE(rig.layer().accept(epilogue::FixedMap{values, 0.25F}));
  }
  rig.forward();
  return rig.top(0).data_vector();
}

/// Candidates that map outputs as they make them, and those that leave it to the layer.
TEST_P(ConvolutionLayout, TopsAreMapped) {
  CoreGroup& group = group_of(GetParam());
  for (const auto precision : {Precision::fp32, Precision::bf16}) {
    if (precision == Precision::bf16 && !group.spec().bf16) continue;
    const float relative = precision == Precision::bf16 ? 0x1p-6F : 1e-4F;
    int mapped = 0, compared = 0;
    for (const Window& w : windows()) {
      if (w.bottom[1] > 100 || w.outputs > 100) continue;  // others show nothing new here
      Blob map(group, Shape{2, w.outputs});
      std::vector<float> values;
      for (i64 i = 0; i < map.count(); ++i) values.push_back(noise(3, i));
      map.write_data(values.data());
      for (const auto layout : {Layout::nchw, Layout::nchw16c}) {
        if (w.outputs % channel_block(layout) != 0) continue;
        const auto shape = shape_of(GetParam(), w, precision, Layout::nchw, layout);
        if (!shape) continue;
        for (const auto& candidate : convolution_candidates()) {
          const ConvolutionPlan plan = candidate.plan(group, *shape, ConvolutionDirection::forward);
          if (!plan.refused.empty() || candidate.name.find(':') != std::string::npos) continue;
          SCOPED_TRACE(std::string(w.name) + " " + to_string(layout) + " " + candidate.name);
          const PlanBook plans{{"layout", to_string(layout)}, {"forward", candidate.name}};
          auto expected = top_of(GetParam(), w, precision, plans, nullptr);
          for (std::size_t i = 0; i < expected.size(); ++i) {
            const auto channel = static_cast<std::size_t>(static_cast<i64>(i) / shape->pixels() % w.outputs);
            const float v = values[channel] * expected[i] + values[channel + static_cast<std::size_t>(w.outputs)];
            expected[i] = v > 0 ? v : 0.25F * v;
          }
          expect_near(top_of(GetParam(), w, precision, plans, &map), expected,
                      relative * std::sqrt(static_cast<float>(w.bottom[1] * 9)), 4 * relative);
          mapped += plan.maps ? 1 : 0;
          ++compared;
        }
      }
    }
    EXPECT_GT(compared, 30);
    EXPECT_GT(mapped, group.spec().works_from_caches() ? 30 : 0);
  }
}

/// The bottom's gradient by this candidate, or what is in `other`'s after it joined that, a leaky rectifier's.
std::vector<float> input_gradient(const std::string& backend, const Window& w, Precision precision, Layout layout,
                                  const std::string& candidate, bool joins) {
  LayerRig rig(backend, layer_of(w), {w.bottom});
  rig.bottom(0).reshape(w.bottom, precision, layout);
  rig.layer().choose_plans({{"layout", to_string(layout)}, {"input_gradient", candidate}});
  rig.fill_bottom(0, [](i64 e) { return float(bf16(noise(0, e))); });
  Blob other(rig.bottom(0).group());
  other.reshape_like(rig.bottom(0));
  std::vector<float> values(static_cast<std::size_t>(other.count()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(bf16(noise(5, static_cast<i64>(i))));
  other.write_diff(values.data());
  if (joins) { EXPECT_TRUE(rig.layer().accept(epilogue::JoinGradient{&other, 0.25F})); }
  rig.forward();
  rig.fill_top_diff(0, [](i64 e) { return float(bf16(noise(9, e))); });
  rig.backward();
  if (joins) return other.diff_vector();
  auto gradient = rig.bottom(0).diff_vector();
  const auto x = rig.bottom(0).data_vector();
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = (gradient[i] + values[i]) * (x[i] > 0 ? 1 : 0.25F);
  return gradient;
}

/// Candidates that do it as they make the gradient, and those that leave it to the layer.
TEST_P(BlockedConvolutions, InputGradientsJoinOthers) {
  CoreGroup& group = group_of(GetParam());
  for (const auto precision : {Precision::fp32, Precision::bf16}) {
    if (precision == Precision::bf16 && !group.spec().bf16) continue;
    const float relative = precision == Precision::bf16 ? 0x1p-6F : 1e-4F;
    int joined = 0, compared = 0;
    for (const Window& w : windows()) {
      if (w.bottom[1] % block_channels != 0 || w.outputs % block_channels != 0 || w.bottom[1] > 512) continue;
      const auto shape = shape_of(GetParam(), w, precision, Layout::nchw16c, Layout::nchw16c);
      if (!shape) continue;
      const auto expected = input_gradient(GetParam(), w, precision, Layout::nchw, "direct", false);
      for (const auto& candidate : convolution_candidates()) {
        const ConvolutionPlan plan = candidate.plan(group, *shape, ConvolutionDirection::input_gradient);
        if (!plan.refused.empty()) continue;
        SCOPED_TRACE(std::string(w.name) + " " + candidate.name);
        expect_near(input_gradient(GetParam(), w, precision, Layout::nchw16c, candidate.name, true), expected,
                    relative * std::sqrt(static_cast<float>(w.outputs * 9)), 4 * relative);
        joined += plan.joins ? 1 : 0;
        ++compared;
      }
    }
    EXPECT_GT(joined, 10);
    EXPECT_GT(compared, joined);
  }
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
}  // namespace cortado::test
