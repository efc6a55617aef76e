#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "core/formats/prototxt.h"
#include "tests/net/small_layers.h"
#include "tests/support/backends.h"

namespace cortado::test::filler_test {
namespace {
std::vector<float> filled(const Shape& shape, const std::string& filler, std::uint64_t key = 1) {
  caffe::FillerParameter parameter;
  parse_text(filler, "test", parameter);
  Blob blob(group_of("reference"), shape);
  fill(blob, parameter, key);
  return blob.data_vector();
}

struct Moments {
  double mean = 0, variance = 0, low = 0, high = 0;
};
Moments moments(const std::vector<float>& values) {
  Moments m;
  m.low = m.high = double{values.at(0)};
  for (const float v : values) {
    m.mean += double{v} / static_cast<double>(values.size());
    m.low = std::min(m.low, double{v});
    m.high = std::max(m.high, double{v});
  }
  for (const float v : values) m.variance += std::pow(double{v} - m.mean, 2) / static_cast<double>(values.size());
  return m;
}

TEST(Filler, Constant) {
  EXPECT_EQ(filled({3}, ""), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(filled({2}, "value: 0.25"), (std::vector<float>{0.25f, 0.25f}));
  EXPECT_TRUE(filled({0, 4}, "type: 'xavier'").empty());
}

TEST(Filler, UniformStaysInItsRange) {
  const auto m = moments(filled({100000}, "type: 'uniform' min: -3 max: 1"));
  EXPECT_GE(m.low, -3);
  EXPECT_LE(m.high, 1);
  EXPECT_NEAR(m.mean, -1, 0.02);
  EXPECT_NEAR(m.variance, 16.0 / 12, 0.02);
}

TEST(Filler, GaussianHasItsMoments) {
  const auto m = moments(filled({100000}, "type: 'gaussian' mean: 2 std: 3"));
  EXPECT_NEAR(m.mean, 2, 0.05);
  EXPECT_NEAR(m.variance, 9, 0.2);
  EXPECT_GT(m.high, 2 + 3 * 3.5);  // it has tails
}

TEST(Filler, SparseGaussianKeepsThatManyPerOutput) {
  const auto values = filled({40, 2500}, "type: 'gaussian' std: 1 sparse: 10");
  const auto zeros = static_cast<double>(std::count(values.begin(), values.end(), 0.0f));
  EXPECT_NEAR(1 - zeros / 100000, 10.0 / 40, 0.01);
}

TEST(Filler, FanSetsTheScale) {
  // 40 outputs, 20 inputs of 5 x 5: fan in 500, fan out 1000, mean 750.
  const Shape shape{40, 20, 5, 5};
  const std::pair<const char*, double> fans[] = {{"FAN_IN", 500}, {"FAN_OUT", 1000}, {"AVERAGE", 750}};
  for (const auto& [mode, n] : fans) {
    const std::string norm = std::string(" variance_norm: ") + mode;
    const auto xavier = moments(filled(shape, "type: 'xavier'" + norm));
    EXPECT_NEAR(xavier.high, std::sqrt(3 / n), 0.01 * std::sqrt(3 / n)) << mode;
    EXPECT_NEAR(xavier.variance, 1 / n, 0.05 / n) << mode;
    EXPECT_NEAR(moments(filled(shape, "type: 'msra'" + norm)).variance, 2 / n, 0.1 / n) << mode;
  }
}

TEST(Filler, FanOutOfAVectorIsItsCount) {
  const auto m = moments(filled({30000}, "type: 'xavier' variance_norm: FAN_OUT"));
  EXPECT_NEAR(m.variance, 1.0 / 30000, 0.05 / 30000);
}

TEST(Filler, PositiveUnitballRowsSumToOne) {
  const auto values = filled({3, 7, 2}, "type: 'positive_unitball'");
  for (std::size_t row = 0; row < 3; ++row) {
    double sum = 0;
    for (std::size_t j = 0; j < 14; ++j) sum += double{values[row * 14 + j]};
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

TEST(Filler, BilinearInterpolates) {
  const std::vector<float> row{0.25f, 0.75f, 0.75f, 0.25f};  // scaling up by 2
  const auto values = filled({2, 1, 4, 4}, "type: 'bilinear'");
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_FLOAT_EQ(values[i], row[i % 4] * row[i / 4 % 4]);
  const auto odd = filled({1, 1, 3, 3}, "type: 'bilinear'");
  EXPECT_EQ(odd, (std::vector<float>{0.25f, 0.5f, 0.25f, 0.5f, 1, 0.5f, 0.25f, 0.5f, 0.25f}));
  EXPECT_THROW(filled({1, 1, 3, 4}, "type: 'bilinear'"), ConfigError);
  EXPECT_THROW(filled({3, 3}, "type: 'bilinear'"), ConfigError);
}

TEST(Filler, DependsOnItsKeyAlone) {
  EXPECT_EQ(filled({100}, "type: 'gaussian'", 5), filled({100}, "type: 'gaussian'", 5));
  EXPECT_NE(filled({100}, "type: 'gaussian'", 5), filled({100}, "type: 'gaussian'", 6));
}

TEST(Filler, MistakesAreNamed) {
  EXPECT_THROW(filled({2}, "type: 'xaviour'"), ConfigError);
  EXPECT_THROW(filled({2}, "type: 'uniform' sparse: 1"), ConfigError);
  EXPECT_THROW(filled({2}, "type: 'gaussian' sparse: -2"), ConfigError);
}

}  // namespace
}  // namespace cortado::test::filler_test
