// Layers that store bf16 against the same layers in float, on values that both hold exactly: what is left is the
// rounding of what they store.
#include "core/base/bf16.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>

#include "tests/support/all_floats.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::bf16_test {
namespace {

TEST(Bf16, RoundsToNearestAndTiesToEven) {
  EXPECT_EQ(bf16(1.0F).bits, 0x3F80);
  EXPECT_EQ(bf16(-2.5F).bits, 0xC020);
  EXPECT_EQ(bf16(1.0F + 0x1p-8F).bits, 0x3F80);             // a tie, to even
  EXPECT_EQ(bf16(1.0F + 0x1p-7F + 0x1p-8F).bits, 0x3F82);   // a tie, to even
  EXPECT_EQ(bf16(1.0F + 0x1p-8F + 0x1p-20F).bits, 0x3F81);  // above it
  EXPECT_EQ(bf16(0.0F).bits, 0);
  EXPECT_EQ(bf16(-0.0F).bits, 0x8000);
  EXPECT_EQ(static_cast<float>(bf16(3.0e38F)), 0x1.C4p127F);
  EXPECT_TRUE(std::isinf(static_cast<float>(bf16(std::numeric_limits<float>::max()))));
  EXPECT_TRUE(std::isinf(static_cast<float>(bf16(-std::numeric_limits<float>::infinity()))));
}

// The lower neighbour of a float's size is its upper half, the other one is the next. Beyond the largest lies 2^128.
TEST(Bf16, RoundsAllKindsOfFloats) {
  for (const float value : floats_of_all_kinds()) {
    std::uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    const std::uint16_t upper = static_cast<std::uint16_t>(word >> 16), given = bf16(value).bits;
    if (std::isnan(value)) {
      ASSERT_EQ(given, upper | 0x40) << std::hex << word;
      continue;
    }
    ASSERT_EQ(given & 0x8000, upper & 0x8000) << std::hex << word;
    const auto size = [](std::uint32_t bits) {
      const auto exponent = static_cast<int>(bits >> 7);
      return std::ldexp(exponent > 0 ? 128 + (bits & 127u) : bits & 127u, std::max(exponent, 1) - 134);
    };
    const std::uint32_t below = upper & 0x7FFFu;
    const double less = std::abs(double{value}) - size(below), more = size(below + 1) - std::abs(double{value});
    const bool up = !std::isinf(value) && (more < less || (more == less && below % 2 == 1));
    ASSERT_EQ(given & 0x7FFFu, below + (up ? 1 : 0)) << std::hex << word;
  }
}

struct Case {
  const char* name;
  const char* layer;
  std::vector<Shape> bottoms;
};

const std::vector<Case>& cases() {
  const Shape image = {3, 18, 13, 11}, small = {1, 1, 2, 3}, wide = {2, 33, 1, 67};
  static const std::vector<Case> all = {
      {"relu", "type: 'ReLU'", {image}},
      {"leaky_relu", "type: 'ReLU' relu_param { negative_slope: 0.25 }", {wide}},
      {"clip", "type: 'Clip' clip_param { min: -0.5 max: 0.25 }", {image}},
      {"relu6", "type: 'ReLU6'", {wide}},
      {"absolute", "type: 'AbsVal'", {small}},
      {"bnll", "type: 'BNLL'", {image}},
      {"elu", "type: 'ELU'", {image}},
      {"exp", "type: 'Exp' exp_param { base: 2 }", {wide}},
      {"power", "type: 'Power' power_param { power: 2 scale: 0.5 shift: 1 }", {image}},
      {"sigmoid", "type: 'Sigmoid'", {image}},
      {"swish", "type: 'Swish'", {image}},
      {"tanh", "type: 'TanH'", {wide}},
      {"batch_norm", "type: 'BatchNorm'", {image}},
      {"batch_norm_small", "type: 'BatchNorm'", {small}},
      {"global_batch_norm", "type: 'BatchNorm' batch_norm_param { use_global_stats: true }", {wide}},
      {"scale", "type: 'Scale' scale_param { bias_term: true }", {image}},
      {"scale_small", "type: 'Scale'", {small}},
      {"sum", "type: 'Eltwise'", {image, image}},
      {"weighted_sum", "type: 'Eltwise' eltwise_param { coeff: 0.5 coeff: -2 coeff: 1 }", {wide, wide, wide}},
      {"product", "type: 'Eltwise' eltwise_param { operation: PROD }", {small, small}},
      {"largest", "type: 'Eltwise' eltwise_param { operation: MAX }", {image, image, image}},
      {"concat", "type: 'Concat'", {image, image}},
      {"concat_of_widths", "type: 'Concat'", {{3, 5, 13, 11}, image}},
      {"max_pool", "type: 'Pooling' pooling_param { pool: MAX kernel_size: 3 stride: 2 }", {image}},
      {"max_pool_small", "type: 'Pooling' pooling_param { pool: MAX kernel_size: 2 }", {small}},
      {"max_pool_all", "type: 'Pooling' pooling_param { pool: MAX global_pooling: true }", {image}},
      {"max_pool_wide", "type: 'Pooling' pooling_param { pool: MAX kernel_size: 3 stride: 2 }", {{1, 2, 5, 9001}}},
      {"max_pool_large", "type: 'Pooling' pooling_param { pool: MAX global_pooling: true }", {{1, 2, 150, 131}}},
      {"average_pool_wide", "type: 'Pooling' pooling_param { pool: AVE kernel_size: 3 stride: 2 }", {{1, 1, 4, 9001}}},
      {"average_pool", "type: 'Pooling' pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }", {image}},
      {"average_pool_all", "type: 'Pooling' pooling_param { pool: AVE global_pooling: true }", {image}},
      {"lrn", "type: 'LRN'", {image}},
      {"lrn_power", "type: 'LRN' lrn_param { local_size: 3 alpha: 2 beta: 0.5 }", {image}},
      {"lrn_within", "type: 'LRN' lrn_param { norm_region: WITHIN_CHANNEL local_size: 3 alpha: 2 }", {image}},
      {"lrn_small", "type: 'LRN'", {small}},
      {"split", "type: 'Split'", {wide}},
      {"dropout", "type: 'Dropout'", {image}},
      {"inner_product", "type: 'InnerProduct' inner_product_param { num_output: 33 }", {image}},
      {"inner_product_small", "type: 'InnerProduct' inner_product_param { num_output: 1 bias_term: false }", {{1, 1}}},
      {"inner_product_turned", "type: 'InnerProduct' inner_product_param { num_output: 5 transpose: true }", {wide}},
      {"inner_product_long", "type: 'InnerProduct' inner_product_param { num_output: 512 }", {{9, 2051}}},
      {"pointwise_pixel", "type: 'Convolution' convolution_param { num_output: 5 kernel_size: 1 }", {{3, 7, 1, 1}}},
  };
  return all;
}

float rounded(float value) { return bf16(value); }

/// Everything that a pass computes.
std::vector<std::vector<float>> results_of(const std::string& backend, const Case& c, Precision precision) {
  LayerRig rig(backend, std::string("name: 'l' ") + c.layer, c.bottoms);
  const bool learns = rig.layer().parameter().type() != "BatchNorm";  // else blobs are statistics
  for (std::size_t i = 0; i < c.bottoms.size(); ++i) {
    rig.bottom(i).reshape(c.bottoms[i], precision);
    rig.fill_bottom(i, [i](i64 e) { return rounded(2 * noise(i, e)); });
  }
  for (std::size_t i = 0; i < rig.layer().blobs().size(); ++i)
    rig.fill_blob(i, [&](i64 e) { return learns ? rounded(noise(20 + i, e)) : 1.5F; });
  rig.forward();
  EXPECT_EQ(rig.top(0).precision(), precision);
  rig.fill_top_diff(0, [](i64 e) { return rounded(noise(10, e)); });
  rig.backward();
  std::vector<std::vector<float>> results = {rig.top(0).data_vector()};
  for (std::size_t i = 0; i < c.bottoms.size(); ++i) results.push_back(rig.bottom(i).diff_vector());
  for (std::size_t i = 0; learns && i < rig.layer().blobs().size(); ++i) results.push_back(rig.blob(i).diff_vector());
  return results;
}

class Bf16Layers : public ::testing::TestWithParam<std::string> {};

TEST_P(Bf16Layers, DifferFromFloatByTheRoundingOfResults) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const auto expected = results_of(GetParam(), c, Precision::fp32), here = results_of(GetParam(), c, Precision::bf16);
    ASSERT_EQ(here.size(), expected.size());
    // A rounding is off by 2^-8 of the value at most; averages are stored as sums first, sums of three as sums of two,
    // convolutions without their bias; gradients of sigmoids come from rounded results.
    const std::set<std::string> rounded_twice = {"pointwise_pixel", "sigmoid", "tanh", "elu"};
    const bool in_steps = c.bottoms.size() == 3 || rounded_twice.count(c.name) > 0;
    const float steps = in_steps ? 0x1p-6F : 1e-5F;
    for (std::size_t i = 0; i < here.size(); ++i) expect_near(here[i], expected[i], steps, 0x1p-7F);
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Bf16Layers);
INSTANTIATE_TEST_SUITE_P(Backends, Bf16Layers, bf16_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::bf16_test
