// Every layer on the simulated processors gives what the serial context gives, over channels and widths that its mesh,
// vectors and lines do not divide.
#include "tests/support/layer_rig.h"

namespace cortado::test::numerics_test {
namespace {

struct Case {
  const char *name, *layer;  ///< the layer as text
  int bottoms = 1;
};

constexpr const char* uniform = "{ type: \"uniform\" min: -1 max: 1 }";

std::string text_of(const Case& c) {
  std::string text = std::string("name: \"layer\" ") + c.layer;
  for (std::size_t at; (at = text.find("UNIFORM")) != std::string::npos;) text.replace(at, 7, uniform);
  return text;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"convolution",
       "type: \"Convolution\" convolution_param { num_output: 5 kernel_size: 3 pad: 1 weight_filler UNIFORM "
       "bias_filler "
       "UNIFORM }"},
      {"strided",
       "type: \"Convolution\" convolution_param { num_output: 9 kernel_size: 3 pad: 1 stride: 2 weight_filler UNIFORM "
       "bias_filler UNIFORM }"},
      {"inner_product",
       "type: \"InnerProduct\" inner_product_param { num_output: 13 weight_filler UNIFORM bias_filler UNIFORM }"},
      {"max_pooling", "type: \"Pooling\" pooling_param { pool: MAX kernel_size: 3 stride: 2 pad: 1 }"},
      {"average_pooling", "type: \"Pooling\" pooling_param { pool: AVE kernel_size: 3 pad: 1 stride: 1 }"},
      {"global_pooling", "type: \"Pooling\" pooling_param { pool: AVE global_pooling: true }"},
      {"relu", "type: \"ReLU\" relu_param { negative_slope: 0.125 }"},
      {"dropout", "type: \"Dropout\" dropout_param { dropout_ratio: 0.25 }"},
      {"lrn", "type: \"LRN\" lrn_param { local_size: 5 alpha: 0.1 beta: 0.75 }"},
      {"batch_norm", "type: \"BatchNorm\""},
      {"scale", "type: \"Scale\" scale_param { bias_term: true filler UNIFORM bias_filler UNIFORM }"},
      {"softmax", "type: \"Softmax\""},
      {"eltwise", "type: \"Eltwise\" eltwise_param { operation: PROD }", 2},
      {"concat", "type: \"Concat\"", 2},
  };
  return all;
}

/// Everything that a pass computes: tops, bottoms' and parameters' gradients.
std::vector<std::vector<float>> results_of(const std::string& backend, const Case& c, const Shape& shape,
                                           const std::string& plan) {
  LayerRig rig(backend, text_of(c), std::vector<Shape>(static_cast<std::size_t>(c.bottoms), shape));
  if (!plan.empty()) rig.layer().choose_plans({{"forward", plan}, {"weight_gradient", plan}, {"input_gradient", plan}});
  rig.forward();
  rig.fill_top_diff(0, [](i64 i) { return noise(7, i); });
  rig.backward();
  std::vector<std::vector<float>> results = {rig.top(0).data_vector()};
  for (int i = 0; i < c.bottoms; ++i) results.push_back(rig.bottom(static_cast<std::size_t>(i)).diff_vector());
  const bool learns = std::string(c.name) != "batch_norm";  // whose blobs are statistics
  for (std::size_t i = 0; learns && i < rig.layer().blobs().size(); ++i) results.push_back(rig.blob(i).diff_vector());
  return results;
}

struct Where {
  const char* machine;
  i64 width;
  std::vector<i64> channels;
};

class SunwayNumerics : public ::testing::TestWithParam<Where> {};

TEST_P(SunwayNumerics, EqualTheReference) {
  const auto& [machine, width, all_channels] = GetParam();
  for (const auto& c : cases())
    for (const i64 channels : all_channels) {
      const Shape shape = {2, channels, 3, width};
      SCOPED_TRACE(std::string(c.name) + " " + to_string(shape));
      const bool convolves = std::string(c.layer).find("Convolution") != std::string::npos;
      for (const std::string plan : {"", "implicit"}) {
        if (!plan.empty() && !convolves) continue;
        const auto expected = results_of("reference", c, shape, plan), here = results_of(machine, c, shape, plan);
        ASSERT_EQ(here.size(), expected.size());
        for (std::size_t i = 0; i < here.size(); ++i) expect_near(here[i], expected[i], 5e-5f, 2e-4f);
      }
    }
}

const std::vector<i64> all_channels = {1, 3, 5, 63, 65};

INSTANTIATE_TEST_SUITE_P(Widths, SunwayNumerics,
                         ::testing::Values(Where{"sw26010", 1, all_channels}, Where{"sw26010", 7, all_channels},
                                           Where{"sw26010", 14, all_channels}, Where{"sw26010", 55, all_channels},
                                           Where{"sw26010", 227, all_channels}, Where{"sw26010pro", 7, all_channels},
                                           Where{"sw26010pro", 55, {3, 65}}),
                         [](const auto& one) {
                           return std::string(one.param.machine) + "_" + std::to_string(one.param.width);
                         });

}  // namespace
}  // namespace cortado::test::numerics_test
