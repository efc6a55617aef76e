#include "core/base/error.h"
#include "layers/relu/oracle.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::relu_test {
namespace {

std::string relu(float slope) {
  return "name: \"r\" type: \"ReLU\" relu_param { negative_slope: " + std::to_string(slope) + " }";
}

class ReluTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ReluTest, IsTheOracle) {
  for (const Shape& shape : {Shape{1}, Shape{2, 3, 5, 7}, Shape{1, 1, 33, 129}, Shape{3, 10007}})
    for (const float slope : {0.0f, 0.1f, -0.5f}) {
      LayerRig rig(GetParam(), relu(slope), {shape});
      rig.fill_bottom(0, [](i64 i) { return i % 7 == 0 ? 0.0f : noise(1, i); });
      rig.forward();
      const auto x = rig.bottom(0).data_vector();
      expect_near(rig.top(0).data_vector(), oracle::relu_forward(x, slope), 0, 0);
      rig.fill_top_diff(0, [](i64 i) { return noise(2, i); });
      rig.backward();
      expect_near(rig.bottom(0).diff_vector(), oracle::relu_backward(x, rig.top(0).diff_vector(), slope), 0, 0);
    }
}

TEST_P(ReluTest, InPlaceGivesTheSame) {
  LayerRig rig(GetParam(), relu(0.2f), {{3, 41}});
  const auto x = rig.bottom(0).data_vector(), dy = noise_vector(5, 3 * 41);
  Blob& blob = rig.bottom(0);
  rig.layer().reshape({&blob}, {&blob});
  rig.layer().forward({&blob}, {&blob});
  expect_near(blob.data_vector(), oracle::relu_forward(x, 0.2f), 0, 0);
  blob.write_diff(dy.data());
  rig.layer().backward({&blob}, {true}, {&blob});
  expect_near(blob.diff_vector(), oracle::relu_backward(x, dy, 0.2f), 0, 0);
}

TEST_P(ReluTest, NegativeSlopeCannotGoBackInPlace) {
  LayerRig rig(GetParam(), relu(-0.2f), {{4}});
  Blob& blob = rig.bottom(0);
  EXPECT_THROW(rig.layer().backward({&blob}, {true}, {&blob}), ConfigError);
}

TEST_P(ReluTest, GradientsAreSlopes) {
  LayerRig(GetParam(), relu(0.3f), {{2, 3, 4}}).check_gradients(1e-3f, 1e-2f, true);
}

INSTANTIATE_TEST_SUITE_P(Backends, ReluTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::relu_test
