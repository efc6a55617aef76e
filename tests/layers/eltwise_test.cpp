#include <cmath>

#include "core/base/error.h"
#include "layers/eltwise/oracle.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::eltwise_test {
namespace {

using oracle::Eltwise;

class EltwiseTest : public ::testing::TestWithParam<std::string> {};

std::string eltwise(const std::string& options = "") {
  return "name: \"e\" type: \"Eltwise\" eltwise_param { " + options + " }";
}

struct Case {
  std::string options;
  Eltwise operation;
  std::vector<float> weights;
};

TEST_P(EltwiseTest, IsTheOracle) {
  const std::vector<Case> cases = {{"", Eltwise::sum, {1, 1}},
                                   {"coeff: 1 coeff: -2 coeff: 0.5", Eltwise::sum, {1, -2, 0.5f}},
                                   {"operation: PROD", Eltwise::product, {1, 1}},
                                   {"operation: PROD", Eltwise::product, {1, 1, 1, 1}},
                                   {"operation: MAX", Eltwise::largest, {1, 1}},
                                   {"operation: MAX", Eltwise::largest, {1, 1, 1}},
                                   {"operation: MAX coeff: 2 coeff: 3", Eltwise::largest, {1, 1}}};  // not looked at
  for (const auto& c : cases)
    for (const Shape& shape : {Shape{1}, Shape{2, 3, 5, 7}, Shape{3, 10007}}) {
      SCOPED_TRACE(to_string(shape) + " " + c.options);
      LayerRig rig(GetParam(), eltwise(c.options), std::vector<Shape>(c.weights.size(), shape));
      oracle::Arrays x;
      for (std::size_t i = 0; i < c.weights.size(); ++i) {
        // Coarse values, so that ties and zeros occur.
        rig.fill_bottom(i, [&](i64 e) { return std::round(4 * noise(i + 1, e)); });
        x.push_back(rig.bottom(i).data_vector());
      }
      rig.forward();
      expect_near(rig.top(0).data_vector(), eltwise_forward(c.operation, x, c.weights), 1e-6f, 1e-6f);
      rig.fill_top_diff(0, [](i64 e) { return noise(9, e); });
      rig.backward();
      const auto dy = rig.top(0).diff_vector();
      for (std::size_t i = 0; i < x.size(); ++i)
        expect_near(rig.bottom(i).diff_vector(), eltwise_backward(c.operation, x, c.weights, dy, i), 1e-6f, 1e-6f);
    }
}

TEST_P(EltwiseTest, OnlyAskedGradientsAreWritten) {
  LayerRig rig(GetParam(), eltwise("operation: PROD"), {{4}, {4}});
  rig.forward();
  rig.fill_top_diff(0, [](i64) { return 1.0f; });
  const std::vector<float> before = {7, 7, 7, 7};
  rig.bottom(0).write_diff(before.data());
  rig.backward({false, true});
  EXPECT_EQ(rig.bottom(0).diff_vector(), before);
  EXPECT_EQ(rig.bottom(1).diff_vector(), rig.bottom(0).data_vector());
}

TEST_P(EltwiseTest, GradientsAreSlopes) {
  LayerRig(GetParam(), eltwise("coeff: 1 coeff: -2 coeff: 0.5"), {{2, 5}, {2, 5}, {2, 5}}).check_gradients();
  LayerRig(GetParam(), eltwise("operation: PROD"), {{7}, {7}, {7}}).check_gradients();
  LayerRig(GetParam(), eltwise("operation: MAX"), {{9}, {9}, {9}}).check_gradients(1e-3f, 1e-2f, true);
}

TEST_P(EltwiseTest, MistakesAreNamed) {
  EXPECT_THROW(LayerRig(GetParam(), eltwise(), {{2, 3}, {3, 2}}), ShapeError);
  EXPECT_THROW(LayerRig(GetParam(), eltwise("coeff: 1"), {{2}, {2}}), ConfigError);
  EXPECT_THROW(LayerRig(GetParam(), eltwise("operation: PROD coeff: 1 coeff: 2"), {{2}, {2}}), ConfigError);
}

INSTANTIATE_TEST_SUITE_P(Backends, EltwiseTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::eltwise_test
