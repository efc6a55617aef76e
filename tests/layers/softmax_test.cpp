#include "layers/softmax/oracle.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::softmax_test {
namespace {

class SoftmaxTest : public ::testing::TestWithParam<std::string> {};

std::string softmax(int axis) {
  return "name: \"s\" type: \"Softmax\" softmax_param { axis: " + std::to_string(axis) + " }";
}

TEST_P(SoftmaxTest, IsTheOracle) {
  struct Case {
    Shape shape;
    int axis;
    oracle::Softmax oracle;
  };
  const std::vector<Case> cases = {{{4, 10}, 1, {4, 10, 1}},
                                   {{1, 1}, 1, {1, 1, 1}},
                                   {{3, 1000}, -1, {3, 1000, 1}},
                                   {{2, 3, 5, 7}, 1, {2, 3, 35}},
                                   {{2, 21, 40, 33}, 1, {2, 21, 1320}},
                                   {{5, 4, 3}, 0, {1, 5, 12}},
                                   {{2, 1, 3, 3}, 1, {2, 1, 9}}};
  for (const auto& c : cases) {
    SCOPED_TRACE(to_string(c.shape));
    LayerRig rig(GetParam(), softmax(c.axis), {c.shape});
    rig.fill_bottom(0, [](i64 i) { return 5 * noise(1, i); });
    rig.forward();
    expect_near(rig.top(0).data_vector(), c.oracle.forward(rig.bottom(0).data_vector()), 1e-7f, 1e-5f);
    rig.fill_top_diff(0, [](i64 i) { return noise(2, i); });
    rig.backward();
    expect_near(rig.bottom(0).diff_vector(), c.oracle.backward(rig.top(0).data_vector(), rig.top(0).diff_vector()),
                1e-6f, 1e-4f);
  }
}

TEST_P(SoftmaxTest, ExtremeScoresStayFinite) {
  for (const Shape& shape : {Shape{2, 3}, Shape{1, 3, 2}}) {
    LayerRig rig(GetParam(), softmax(1), {shape});
    rig.fill_bottom(0, [](i64 i) { return i % 2 == 0 ? 1e30f : -1e30f; });
    rig.forward();
    double sum = 0;
    for (const float v : rig.top(0).data_vector()) {
      EXPECT_TRUE(v >= 0 && v <= 1) << v;
      sum += v;
    }
    EXPECT_NEAR(sum, 2, 1e-6);
  }
}

TEST_P(SoftmaxTest, GradientsAreSlopes) {
  LayerRig(GetParam(), softmax(1), {{2, 5}}).check_gradients();
  LayerRig(GetParam(), softmax(1), {{2, 3, 4}}).check_gradients();
}

INSTANTIATE_TEST_SUITE_P(Backends, SoftmaxTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::softmax_test
