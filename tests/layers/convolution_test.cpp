#include "layers/convolution/convolution.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "layers/convolution/merged/merged.h"
#include "layers/convolution/oracle.h"
#include "tests/layers/convolution_cases.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::convolution_test {
namespace {

std::string text_of(const Case& c) {
  return "name: \"c\" type: \"Convolution\" convolution_param { " + c.parameter +
         " weight_filler { type: \"uniform\" min: -1 max: 1 } bias_filler { type: \"uniform\" min: -1 max: 1 } }";
}

/// The shape that the layer made of a case, read back from what it shaped.
ConvolutionShape shape_in(LayerRig& rig) {
  const auto& p = rig.layer().parameter().convolution_param();
  ConvolutionShape s;
  s.mb = rig.bottom(0).dim(0), s.ic = rig.bottom(0).dim(1), s.ih = rig.bottom(0).dim(2), s.iw = rig.bottom(0).dim(3);
  s.oc = rig.top(0).dim(1), s.oh = rig.top(0).dim(2), s.ow = rig.top(0).dim(3);
  s.g = p.group(), s.kh = rig.blob(0).dim(2), s.kw = rig.blob(0).dim(3);
  s.sh = p.has_stride_h() ? p.stride_h() : (p.stride_size() ? p.stride(0) : 1);
  s.sw = p.has_stride_w() ? p.stride_w() : (p.stride_size() ? p.stride(0) : 1);
  s.ph = p.has_pad_h() ? p.pad_h() : (p.pad_size() ? p.pad(0) : 0);
  s.pw = p.has_pad_w() ? p.pad_w() : (p.pad_size() ? p.pad(0) : 0);
  s.dh = s.dw = p.dilation_size() ? p.dilation(0) : 1;
  return s;
}

/// The plan that a candidate is, or is a variant of.
std::string method_of(const ConvolutionCandidate& candidate) {
  return candidate.name.substr(0, candidate.name.find(':'));
}

const ConvolutionCandidate& candidate_called(const std::string& name) {
  const auto& all = convolution_candidates();
  return *std::find_if(all.begin(), all.end(), [&](const auto& candidate) { return candidate.name == name; });
}

void expect_says(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

class ConvolutionTest : public ::testing::TestWithParam<std::string> {
 protected:
  /// What a layer computes, by the definition.
  struct Expected {
    std::vector<float> y;
    oracle::ConvolutionGradients gradients;
  };
  static Expected expected_of(LayerRig& rig) {
    const ConvolutionShape s = shape_in(rig);
    const auto x = rig.bottom(0).data_vector(), w = rig.blob(0).data_vector();
    rig.forward();
    fill_top_diff(rig);
    return {oracle::convolution_forward(s, x, w, is_biased(rig) ? rig.blob(1).data_vector() : std::vector<float>{}),
            oracle::convolution_backward(s, x, w, rig.top(0).diff_vector())};
  }
  void expect(LayerRig& rig, const Expected& expected, const std::string& what, float absolute,
              float relative = 1e-4f) {
    SCOPED_TRACE(what);
    rig.forward();
    expect_near(rig.top(0).data_vector(), expected.y, absolute / 2, relative);
    fill_top_diff(rig);
    rig.backward();
    expect_near(rig.bottom(0).diff_vector(), expected.gradients.x, absolute, relative);
    expect_near(rig.blob(0).diff_vector(), expected.gradients.w, absolute, 1e-4f);
    if (is_biased(rig)) expect_near(rig.blob(1).diff_vector(), expected.gradients.bias, 2e-5f, 1e-4f);
  }
  void expect_oracle(LayerRig& rig, const std::string& what, float absolute) {
    expect(rig, expected_of(rig), what, absolute);
  }
  static bool is_biased(LayerRig& rig) { return rig.layer().blobs().size() == 2; }
  static void fill_top_diff(LayerRig& rig) {
    rig.fill_top_diff(0, [](i64 i) { return noise(7, i); });
  }

  /// Forces the candidate in every direction that it accepts, and in others, if there is one, the plan that it is a
  /// variant of; what it forced.
  static PlanBook force(LayerRig& rig, const ConvolutionCandidate& candidate) {
    ConvolutionShape shape = shape_in(rig);
    shape.precision = rig.bottom(0).precision();
    PlanBook wanted;
    const auto want = [&](const ConvolutionCandidate& one) {
      for (const auto direction : convolution_directions)
        if (one.plan(rig.bottom(0).group(), shape, direction).refused.empty())
          wanted.emplace(to_string(direction), one.name);
    };
    want(candidate);
    if (!wanted.empty()) want(candidate_called(method_of(candidate)));
    rig.layer().choose_plans(wanted);
    return wanted;
  }
};

TEST_P(ConvolutionTest, EveryCandidateOfEveryDirectionIsTheOracle) {
  for (const auto& c : cases()) {
    LayerRig rig(GetParam(), text_of(c), {c.bottom});
    const Expected expected = expected_of(rig);
    for (const auto& candidate : convolution_candidates()) {
      const PlanBook wanted = force(rig, candidate);
      if (wanted.empty()) continue;
      // The transforms of Winograd's larger tiles add and subtract multiples of the values: errors are those of sums
      // about ten times as large, and of cuDNN's twice that. Those of F(2x2, 3x3) only halve.
      const std::string method = method_of(candidate);
      expect(rig, expected, c.name + " by " + candidate.name,
             method == "winograd"          ? 2e-4f
             : method == "vendor_winograd" ? 4e-4f
                                           : 2e-5f);
      for (const auto& [direction, name] : wanted) EXPECT_EQ(rig.layer().plans().at(direction), name);
    }
  }
}

/// Tiles at the edges have 1 to 4 outputs, down and across, or 2, 4 or 6; of a kernel of 5 x 5 2 or 4, of 4 x 4 1, 3 or
/// 5.
TEST_P(ConvolutionTest, WinogradIsTheOracleWhateverTheLastTilesAre) {
  const auto expect = [this](i64 kernel, i64 height, i64 width, const std::string& plan) {
    const std::string parameter = "num_output: 3 pad: 1 kernel_size: " + std::to_string(kernel);
    LayerRig rig(GetParam(), text_of({"", {}, parameter}), {{2, 2, height, width}});
    if (!force(rig, candidate_called(plan)).empty())
      expect_oracle(rig, std::to_string(kernel) + ": " + std::to_string(height) + " x " + std::to_string(width), 2e-4f);
  };
  for (i64 height = 5; height <= 8; ++height)
    for (i64 width = 5; width <= 8; ++width)
      for (const char* plan : {"winograd", "winograd:4x4"}) expect(3, height, width, plan);  // whichever is F(4x4, 3x3)
  for (i64 height = 13; height <= 18; ++height)
    for (i64 width = 13; width <= 18; ++width) expect(3, height, width, "winograd");
  for (i64 height = 7; height <= 10; ++height)
    for (i64 width = 7; width <= 10; ++width) expect(5, height, width, "winograd");
  for (i64 height = 7; height <= 11; ++height)
    for (i64 width = 7; width <= 11; ++width) expect(4, height, width, "winograd");
}

/// Phases of large images are made for some images at a time: two, and the last one.
TEST_P(ConvolutionTest, WinogradsPhasesOfAPartOfTheImagesAreTheOracle) {
  LayerRig rig(GetParam(), text_of({"", {}, "num_output: 2 kernel_size: 5 stride: 2 pad: 2"}), {{3, 1, 1500, 1100}});
  if (force(rig, candidate_called("winograd")).empty()) return;
  expect_oracle(rig, "parts", 5e-2f);  // weight gradients are sums over a million pixels
}

/// A weight gradient takes a large image in parts, of which the last one ends in smaller tiles.
TEST_P(ConvolutionTest, WinogradsPartsOfAnImageAreTheOracle) {
  LayerRig rig(GetParam(), text_of({"", {}, "num_output: 2 kernel_size: 3 pad: 1"}), {{1, 3, 302, 61}});
  const auto direction = ConvolutionDirection::weight_gradient;
  const auto& candidate = candidate_called("winograd:small_parts");
  CoreGroup& group = rig.bottom(0).group();
  const bool takes_it = candidate.plan(group, shape_in(rig), direction).refused.empty();
  EXPECT_EQ(takes_it, group.spec().works_from_caches());
  if (!takes_it) return;
  rig.layer().choose_plans({{to_string(direction), candidate.name}});
  expect_oracle(rig, "parts", 2e-3f);
}

// Under the same state of the parameters weights that were changed all the same go unseen by candidates that pack them.
TEST_P(ConvolutionTest, PackedWeightsStayWhereParametersDo) {
  const std::vector<Case> some = {{"any", {2, 18, 9, 8}, "num_output: 34 kernel_size: 3 pad: 1"},
                                  {"one_pixel", {2, 17, 5, 7}, "num_output: 33 kernel_size: 1"},
                                  {"groups", {2, 6, 9, 8}, "num_output: 4 kernel_size: 5 pad: 2 group: 2"},
                                  {"in_phases", {2, 3, 21, 30}, "num_output: 7 kernel_size: 5 stride: 2 pad: 2"}};
  for (const Case& c : some) {
    LayerRig rig(GetParam(), text_of(c), {c.bottom});
    for (const auto& candidate : convolution_candidates()) {
      if (force(rig, candidate).count("forward") == 0) continue;
      SCOPED_TRACE(c.name + " by " + candidate.name);
      const auto weights = rig.blob(0).data_vector();
      rig.forward();
      const auto outputs = [&](i64 version, float weight) {
        rig.blob(0).write_data(std::vector<float>(weights.size(), weight).data());
        rig.run().parameter_version = version;
        rig.layer().forward({&rig.bottom(0)}, {&rig.top(0)});  // without a reshape, which packs anew
        return rig.top(0).data_vector();
      };
      const auto ones = outputs(0, 1), twos = outputs(0, 2);
      EXPECT_NE(ones, twos);
      EXPECT_EQ(outputs(7, 1), ones);
      EXPECT_EQ(outputs(7, 1), ones);
      const ConvolutionShape shape = shape_in(rig);
      EXPECT_EQ(
          outputs(7, 2),
          candidate.plan(rig.bottom(0).group(), shape, ConvolutionDirection::forward).kept_weights > 0 ? ones : twos);
      EXPECT_EQ(outputs(8, 2), twos);
      EXPECT_EQ(outputs(0, 1), ones);
      rig.run().parameter_version = 0;
      rig.blob(0).write_data(weights.data());
    }
  }
}

/// In planes as many as share sixteen lanes, in blocks as few as fill them.
TEST(MergedGroups, FillLanesAndBlocks) {
  const auto merged = [](i64 g, i64 in, i64 out, Layout src, Layout dst) {
    ConvolutionShape s;
    s.g = g, s.ic = g * in, s.oc = g * out, s.src = src, s.dst = dst;
    return groups_to_merge(s);
  };
  constexpr Layout planes = Layout::nchw, blocks = Layout::nchw16c;
  EXPECT_EQ(merged(1, 4, 4, planes, planes), 1);
  EXPECT_EQ(merged(32, 4, 4, planes, planes), 4);
  EXPECT_EQ(merged(7, 3, 3, planes, planes), 1) << "five share lanes, which seven is no multiple of";
  EXPECT_EQ(merged(6, 3, 5, planes, planes), 3);
  EXPECT_EQ(merged(2, 48, 128, planes, planes), 1);
  EXPECT_EQ(merged(32, 4, 4, blocks, blocks), 4);
  EXPECT_EQ(merged(32, 4, 8, blocks, planes), 4);
  EXPECT_EQ(merged(16, 3, 3, blocks, blocks), 16);
  EXPECT_EQ(merged(16, 1, 4, planes, blocks), 4);
  EXPECT_EQ(merged(8, 32, 32, blocks, blocks), 1);
}

class Bf16ConvolutionTest : public ConvolutionTest {};

// Values and weights are such that bf16 holds them: what is left is the rounding of what is stored, by 2^-8 of it, and
// that of the sum before its bias.
TEST_P(Bf16ConvolutionTest, EveryCandidateIsTheOracleWithinTheRounding) {
  int ran = 0;
  for (const auto& c : cases()) {
    LayerRig rig(GetParam(), text_of(c), {c.bottom});
    rig.bottom(0).reshape(c.bottom, Precision::bf16);
    rig.fill_bottom(0, [](i64 i) { return noise(0, i); });
    rig.fill_blob(0, [](i64 i) { return static_cast<float>(bf16(noise(1, i))); });
    const Expected expected = expected_of(rig);
    for (const auto& candidate : convolution_candidates()) {
      if (force(rig, candidate).empty()) continue;
      ++ran;
      expect(rig, expected, c.name + " by " + candidate.name, 0x1p-6f, 0x1p-7f);
    }
  }
  EXPECT_GE(ran, static_cast<int>(cases().size()));
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Bf16ConvolutionTest);
INSTANTIATE_TEST_SUITE_P(Backends, Bf16ConvolutionTest, bf16_backends(), backend_name);

/// These refuse no case that is theirs. Other candidates may refuse any.
TEST_P(ConvolutionTest, TileProgramsRunEveryCase) {
  CoreGroup& group = group_of(GetParam());
  for (const auto& c : cases()) {
    LayerRig rig(GetParam(), text_of(c), {c.bottom});
    const ConvolutionShape shape = shape_in(rig);
    std::vector<const char*> names = {"explicit_tile", "implicit"};
    if (group.spec().works_from_caches()) names.push_back("direct");
    if (group.spec().mesh_cols > 1) names.push_back("explicit_paper");
    if (shape.g == shape.ic && shape.g == shape.oc) names.push_back("depthwise");
    for (const char* name : names)
      for (const auto direction : convolution_directions)
        EXPECT_EQ(candidate_called(name).plan(group, shape, direction).refused, "") << c.name << " " << name;
  }
}

// Variants have other tiles where there is something to cut, and are not tried where there is not.
TEST_P(ConvolutionTest, VariantsAreTheOracleOrDoWhatThePlanDoes) {
  LayerRig large(GetParam(), text_of({"", {}, "num_output: 66 kernel_size: 3 pad: 1"}), {{6, 18, 30, 30}}),
      small(GetParam(), text_of({"", {}, "num_output: 2 kernel_size: 3 pad: 1"}), {{1, 2, 3, 3}});
  const MachineSpec& spec = large.bottom(0).group().spec();
  const Expected expected = expected_of(large);
  int variants = 0, ran = 0, shared_out = 0;
  for (const auto& candidate : convolution_candidates()) {
    if (candidate.name == method_of(candidate) || method_of(candidate) == "vendor") continue;
    ++variants;
    const auto is = [&](const char* variant) { return candidate.name.find(variant) != std::string::npos; };
    const bool differs = !is(":large_parts");  // the batch is one part as it is
    const PlanBook wanted = force(large, candidate);
    // What a scratchpad leaves of a tile's form may be the same, and so may one of two ways to share work out.
    if (is(":by_"))
      shared_out += wanted.empty() ? 0 : 1;
    else if (!is("_tiles")) { EXPECT_EQ(wanted.empty(), !spec.works_from_caches() || !differs) << candidate.name; }
    if (!wanted.empty()) {
      ++ran;
      // Weight gradients are sums over 5400 pixels.
      expect(large, expected, candidate.name, method_of(candidate) == "winograd" ? 1e-3f : 1e-4f);
    }
    const std::string reason =
        candidate.plan(small.bottom(0).group(), shape_in(small), ConvolutionDirection::forward).refused;
    if (is(":wide_tiles") && spec.works_from_caches())
      EXPECT_EQ(reason, "");  // has weights' points from memory where few tiles make them themselves
    else
      expect_says(reason, spec.works_from_caches() ? "does what " + method_of(candidate) + " does" : "caches");
  }
  EXPECT_GT(variants, 0);
  EXPECT_EQ(ran > 0, spec.works_from_caches());
  EXPECT_EQ(shared_out > 0, spec.works_from_caches() && spec.cpes > 1);
}

// The published implicit plan wants 64 channels, 128 backward; widths and batches that the mesh does not divide.
TEST_P(ConvolutionTest, PublishedImplicitPlan) {
  for (const auto& [bottom, parameter] :
       {std::pair<Shape, std::string>{{3, 128, 4, 5}, "num_output: 130 kernel_size: 3 pad: 1"},
        {{9, 65, 5, 3}, "num_output: 64 kernel_h: 2 kernel_w: 3 pad_h: 0 pad_w: 2"}}) {
    LayerRig rig(GetParam(), text_of({"", {}, parameter}), {bottom});
    const ConvolutionShape shape = shape_in(rig);
    const auto& paper = candidate_called("implicit_paper");
    PlanBook wanted;
    for (const auto direction : convolution_directions) {
      const std::string reason = paper.plan(rig.bottom(0).group(), shape, direction).refused;
      if (rig.bottom(0).group().spec().mesh_cols == 1)
        expect_says(reason, "meshes");
      else if (direction != ConvolutionDirection::forward && shape.ic < 128)
        expect_says(reason, "at least 128");
      else
        EXPECT_EQ(reason, "");
      if (reason.empty()) wanted[to_string(direction)] = "implicit_paper";
    }
    rig.layer().choose_plans(wanted);
    expect_oracle(rig, parameter, 2e-5f);
  }
}

TEST_P(ConvolutionTest, GradientsAreSlopes) {
  LayerRig rig(GetParam(), text_of({"", {}, "num_output: 2 kernel_size: 3 stride: 2 pad: 1 group: 2"}), {{2, 2, 4, 5}});
  rig.check_gradients();
  LayerRig groups(GetParam(), text_of({"", {}, "num_output: 6 kernel_size: 3 pad: 1 group: 2"}), {{1, 4, 3, 4}});
  groups.check_gradients();
}

TEST_P(ConvolutionTest, SeveralBottomsShareTheWeightsAndAddTheirGradients) {
  const std::string text = text_of({"", {}, "num_output: 3 kernel_size: 3"});
  LayerRig both(GetParam(), text, {{1, 2, 5, 5}, {1, 2, 5, 5}}, 2);
  both.forward();
  for (std::size_t i = 0; i < 2; ++i) both.fill_top_diff(i, [](i64 e) { return noise(9, e); });
  both.backward();
  std::vector<float> sum(both.blob(0).diff_vector().size());
  for (std::size_t i = 0; i < 2; ++i) {
    LayerRig one(GetParam(), text, {{1, 2, 5, 5}});
    one.fill_bottom(0, [i](i64 e) { return noise(i, e); });
    one.blob(0).write_data(both.blob(0).data_vector().data());
    one.blob(1).write_data(both.blob(1).data_vector().data());
    one.forward();
    expect_near(both.top(i).data_vector(), one.top(0).data_vector(), 1e-6f, 1e-5f);
    one.fill_top_diff(0, [](i64 e) { return noise(9, e); });
    one.backward();
    const auto gradient = one.blob(0).diff_vector();
    for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += gradient[e];
  }
  expect_near(both.blob(0).diff_vector(), sum, 1e-5f, 1e-5f);
}

TEST_P(ConvolutionTest, ParameterGradientsAreAddedAndZerosGiveZeros) {
  LayerRig rig(GetParam(), text_of(cases()[0]), {cases()[0].bottom});
  rig.fill_bottom(0, [](i64) { return 0.0f; });
  rig.forward();
  rig.fill_top_diff(0, [](i64) { return 1.0f; });
  rig.backward();
  for (const float v : rig.blob(0).diff_vector()) EXPECT_EQ(v, 0.0f);
  const auto once = rig.blob(1).diff_vector();
  rig.layer().backward({&rig.top(0)}, {false}, {&rig.bottom(0)});
  const auto twice = rig.blob(1).diff_vector();
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_FLOAT_EQ(twice[i], 2 * once[i]);
}

TEST_P(ConvolutionTest, WhatCannotBeIsRefusedByName) {
  const auto message = [&](const std::string& parameter, const Shape& bottom) -> std::string {
    try {
      LayerRig rig(GetParam(), text_of({"", {}, parameter}), {bottom});
    } catch (const Error& error) { return error.what(); }
    return "accepted";
  };
  expect_says(message("num_output: 4 kernel_size: 9", {1, 1, 5, 5}), "does not fit");
  expect_says(message("num_output: 4 kernel_size: 3 group: 3", {1, 3, 5, 5}), "group 3");
  expect_says(message("num_output: 4", {1, 3, 5, 5}), "kernel_size is missing");
  expect_says(message("num_output: 4 kernel_size: 3 axis: 2", {3, 5}), "axis 2");
  expect_says(message("kernel_size: 3", {1, 3, 5, 5}), "num_output");
}

INSTANTIATE_TEST_SUITE_P(Backends, ConvolutionTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::convolution_test
