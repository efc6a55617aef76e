// What convolutions do besides their own work, by every candidate: sums over tops, maps of tops, gradients that they
// join.
#include <cmath>

#include "tests/layers/convolution_windows.h"

namespace cortado::test::convolution_epilogues_test {
namespace {

class ConvolutionEpilogues : public ::testing::TestWithParam<std::string> {};
class BlockedEpilogues : public ConvolutionEpilogues {};

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

TEST_P(BlockedEpilogues, CandidatesLeaveSumsOverWhatTheyMake) {
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
TEST_P(ConvolutionEpilogues, TopsAreMapped) {
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
TEST_P(BlockedEpilogues, InputGradientsJoinOthers) {
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

INSTANTIATE_TEST_SUITE_P(Backends, ConvolutionEpilogues, all_backends(), backend_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BlockedEpilogues);
INSTANTIATE_TEST_SUITE_P(Backends, BlockedEpilogues, block_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::convolution_epilogues_test
