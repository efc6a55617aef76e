#include "layers/batch_norm/batch_norm.h"

#include "core/base/error.h"
#include "core/base/layout.h"
#include "layers/batch_norm/oracle.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::batch_norm_test {
namespace {

class BatchNormTest : public ::testing::TestWithParam<std::string> {};

std::string batch_norm(const std::string& options = "") {
  return "name: \"b\" type: \"BatchNorm\" batch_norm_param { " + options + " }";
}

struct Case {
  Shape shape;
  oracle::BatchNorm oracle;
};

std::vector<Case> cases() {
  return {{{3, 5, 7, 9}, {3, 5, 63}}, {{1, 1, 33, 65}, {1, 1, 2145}},   {{17, 3}, {17, 3, 1}},
          {{40}, {40, 1, 1}},         {{2, 65, 1, 1}, {2, 65, 1}},      {{64, 300}, {64, 300, 1}},
          {{5, 2, 49}, {5, 2, 49}},   {{1, 2, 3, 20001}, {1, 2, 60003}}};
}

std::vector<float> floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }

TEST_P(BatchNormTest, TrainingIsTheOracle) {
  for (const auto& c : cases()) {
    SCOPED_TRACE(to_string(c.shape));
    LayerRig rig(GetParam(), batch_norm(), {c.shape});
    rig.fill_bottom(0, [](i64 i) { return 3 + 2 * noise(1, i); });
    rig.forward();
    const auto x = rig.bottom(0).data_vector();
    expect_near(rig.top(0).data_vector(), c.oracle.forward(x, c.oracle.means(x), c.oracle.variances(x)), 2e-5f, 1e-4f);
    rig.fill_top_diff(0, [](i64 i) { return noise(2, i); });
    rig.backward();
    expect_near(rig.bottom(0).diff_vector(), c.oracle.backward(x, rig.top(0).diff_vector()), 2e-5f, 1e-3f);
  }
}

// Sums of squares would lose such variances in the digits of float.
TEST_P(BatchNormTest, VariancesFarFromZeroKeepTheirDigits) {
  const Shape shape = {3, 16, 63, 67};
  const oracle::BatchNorm oracle{3, 16, 63 * 67};
  for (const Layout layout : {Layout::nchw, Layout::nchw16c}) {
    LayerRig rig(GetParam(), batch_norm("moving_average_fraction: 0"), {shape});
    rig.bottom(0).reshape(shape, Precision::fp32, layout);
    rig.fill_bottom(0, [](i64 i) { return static_cast<float>(1000 + i % 4221 / 1000) + noise(1, i); });
    rig.forward();
    const auto x = rig.bottom(0).data_vector();
    auto variances = oracle.variances(x);
    for (double& v : variances) v *= oracle.values() / (oracle.values() - 1);
    expect_near(rig.blob(0).data_vector(), floats(oracle.means(x)), 0, 1e-6f);
    expect_near(rig.blob(1).data_vector(), floats(variances), 0, 1e-5f);
  }
}

TEST_P(BatchNormTest, RunningSumsFollowCaffesRule) {
  const oracle::BatchNorm oracle{4, 6, 35};
  LayerRig rig(GetParam(), batch_norm("moving_average_fraction: 0.9"), {{4, 6, 5, 7}});
  std::vector<double> mean(6), variance(6);
  double weight = 0;
  for (std::uint64_t round = 1; round <= 3; ++round) {
    rig.fill_bottom(0, [&](i64 i) { return static_cast<float>(round) + noise(round, i); });
    rig.forward();
    const auto x = rig.bottom(0).data_vector();
    const auto m = oracle.means(x), v = oracle.variances(x);
    for (std::size_t k = 0; k < 6; ++k) {
      mean[k] = 0.9 * mean[k] + m[k];
      variance[k] = 0.9 * variance[k] + v[k] * oracle.values() / (oracle.values() - 1);
    }
    weight = 0.9 * weight + 1;
  }
  expect_near(rig.blob(0).data_vector(), floats(mean), 1e-5f, 1e-5f);
  expect_near(rig.blob(1).data_vector(), floats(variance), 1e-5f, 1e-5f);
  expect_near(rig.blob(2).data_vector(), {static_cast<float>(weight)}, 1e-6f, 0);
}

TEST_P(BatchNormTest, GlobalStatisticsAreTheOracle) {
  for (const auto& c : cases()) {
    SCOPED_TRACE(to_string(c.shape));
    LayerRig rig(GetParam(), batch_norm("use_global_stats: true eps: 0.01"), {c.shape});
    rig.fill_blob(0, [](i64 i) { return 4 * noise(7, i); });
    rig.fill_blob(1, [](i64 i) { return 6 + 4 * noise(8, i); });
    rig.fill_blob(2, [](i64) { return 4.0f; });
    std::vector<double> mean, variance;
    for (i64 k = 0; k < c.oracle.channels; ++k)
      mean.push_back(noise(7, k)), variance.push_back((6 + 4 * double{noise(8, k)}) / 4);
    oracle::BatchNorm oracle = c.oracle;
    oracle.eps = 0.01;
    rig.forward();
    expect_near(rig.top(0).data_vector(), oracle.forward(rig.bottom(0).data_vector(), mean, variance), 1e-6f, 1e-5f);
    rig.fill_top_diff(0, [](i64 i) { return noise(2, i); });
    rig.backward();
    // The statistics are constants here: the gradient is dy over the deviation.
    expect_near(rig.bottom(0).diff_vector(),
                oracle.forward(rig.top(0).diff_vector(), std::vector<double>(mean.size()), variance), 1e-6f, 1e-5f);
  }
}

TEST_P(BatchNormTest, EmptyRunningSumsGiveZeroMeanAndVariance) {
  LayerRig rig(GetParam(), batch_norm("eps: 0.25"), {{2, 3}}, 1, Phase::test);
  rig.forward();
  auto expected = rig.bottom(0).data_vector();
  for (float& v : expected) v *= 2;
  expect_near(rig.top(0).data_vector(), expected, 1e-6f, 1e-6f);
}

TEST_P(BatchNormTest, ConstantAndZeroInputsStayFinite) {
  for (const float value : {0.0f, 5.0f}) {
    LayerRig rig(GetParam(), batch_norm(), {{2, 3, 4, 4}});
    rig.fill_bottom(0, [&](i64) { return value; });
    rig.forward();
    expect_near(rig.top(0).data_vector(), std::vector<float>(96), 1e-3f, 0);
    rig.fill_top_diff(0, [](i64 i) { return noise(2, i); });
    rig.backward();
    for (const float v : rig.bottom(0).diff_vector()) EXPECT_TRUE(std::isfinite(v));
  }
}

TEST_P(BatchNormTest, InPlaceGivesTheSame) {
  LayerRig apart(GetParam(), batch_norm(), {{3, 4, 5}}), inside(GetParam(), batch_norm(), {{3, 4, 5}});
  apart.forward();
  apart.fill_top_diff(0, [](i64 i) { return noise(3, i); });
  apart.backward();
  Blob& blob = inside.bottom(0);
  inside.layer().reshape({&blob}, {&blob});
  inside.layer().forward({&blob}, {&blob});
  EXPECT_EQ(blob.data_vector(), apart.top(0).data_vector());
  blob.write_diff(apart.top(0).diff_vector().data());
  inside.layer().backward({&blob}, {true}, {&blob});
  EXPECT_EQ(blob.diff_vector(), apart.bottom(0).diff_vector());
}

TEST_P(BatchNormTest, GradientsAreSlopes) {
  LayerRig(GetParam(), batch_norm(), {{4, 2, 3, 2}}).check_gradients(1e-2f, 2e-2f);
  LayerRig(GetParam(), batch_norm(), {{6, 3}}).check_gradients(1e-2f, 2e-2f);
}

TEST_P(BatchNormTest, OtherChannelsAreRefused) {
  LayerRig rig(GetParam(), batch_norm(), {{2, 3, 4}});
  rig.bottom(0).reshape({2, 4, 4});
  EXPECT_THROW(rig.forward(), ShapeError);
}

INSTANTIATE_TEST_SUITE_P(Backends, BatchNormTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::batch_norm_test
