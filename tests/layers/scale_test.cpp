#include "core/base/error.h"
#include "layers/scale/oracle.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::scale_test {
namespace {

class ScaleTest : public ::testing::TestWithParam<std::string> {};

std::string scale(const std::string& options = "") {
  return "name: \"s\" type: \"Scale\" scale_param { " + options + " }";
}

struct Case {
  Shape shape;
  std::string options;
  oracle::Scale oracle;
};

std::vector<Case> cases() {
  return {{{3, 5, 7, 9}, "bias_term: true", {3, 5, 63}},
          {{1, 1, 65, 33}, "bias_term: true", {1, 1, 2145}},
          {{17, 3}, "", {17, 3, 1}},
          {{2, 3, 4}, "axis: 0 num_axes: 2 bias_term: true", {1, 6, 4}},
          {{2, 3, 4}, "axis: 1 num_axes: -1", {2, 12, 1}},
          {{2, 3, 5}, "axis: -1 bias_term: true", {6, 5, 1}},
          {{40}, "axis: 0 num_axes: 0 bias_term: true", {1, 1, 40}},
          {{1, 2, 3, 20001}, "", {1, 2, 60003}}};
}

TEST_P(ScaleTest, IsTheOracle) {
  for (const auto& c : cases()) {
    SCOPED_TRACE(to_string(c.shape) + " " + c.options);
    const bool biased = c.options.find("bias_term") != std::string::npos;
    LayerRig rig(GetParam(), scale(c.options), {c.shape});
    rig.fill_blob(0, [](i64 i) { return i % 5 == 4 ? 0.0f : noise(5, i); });
    if (biased) rig.fill_blob(1, [](i64 i) { return noise(6, i); });
    rig.forward();
    const auto x = rig.bottom(0).data_vector(), factors = rig.blob(0).data_vector();
    const auto bias = biased ? rig.blob(1).data_vector() : std::vector<float>();
    expect_near(rig.top(0).data_vector(), c.oracle.forward(x, factors, bias), 1e-6f, 1e-6f);
    rig.fill_top_diff(0, [](i64 i) { return noise(2, i); });
    rig.backward();
    const auto dy = rig.top(0).diff_vector();
    expect_near(rig.bottom(0).diff_vector(), c.oracle.backward(dy, factors), 1e-6f, 1e-6f);
    expect_near(rig.blob(0).diff_vector(), c.oracle.scale_gradient(x, dy), 1e-4f, 1e-4f);
    if (biased)
      expect_near(rig.blob(1).diff_vector(), c.oracle.scale_gradient(std::vector<float>(x.size(), 1), dy), 1e-4f,
                  1e-4f);
  }
}

TEST_P(ScaleTest, ByTheSecondBottomIsTheOracle) {
  const oracle::Scale oracle{2, 12, 5};
  LayerRig rig(GetParam(), scale(), {{2, 3, 4, 5}, {3, 4}});
  rig.forward();
  const auto x = rig.bottom(0).data_vector(), factors = rig.bottom(1).data_vector();
  expect_near(rig.top(0).data_vector(), oracle.forward(x, factors, {}), 1e-6f, 1e-6f);
  rig.fill_top_diff(0, [](i64 i) { return noise(2, i); });
  rig.backward();
  const auto dy = rig.top(0).diff_vector();
  expect_near(rig.bottom(0).diff_vector(), oracle.backward(dy, factors), 1e-6f, 1e-6f);
  expect_near(rig.bottom(1).diff_vector(), oracle.scale_gradient(x, dy), 1e-5f, 1e-5f);
}

TEST_P(ScaleTest, GradientsOfParametersAreAdded) {
  LayerRig rig(GetParam(), scale("bias_term: true"), {{2, 3, 4}});
  rig.forward();
  rig.fill_top_diff(0, [](i64 i) { return noise(2, i); });
  rig.backward();
  auto once = rig.blob(0).diff_vector();
  rig.layer().backward({&rig.top(0)}, {true}, {&rig.bottom(0)});
  for (float& v : once) v *= 2;
  expect_near(rig.blob(0).diff_vector(), once, 1e-6f, 1e-6f);
}

TEST_P(ScaleTest, InPlaceGivesTheSame) {
  const std::string text = scale("bias_term: true filler { type: \"uniform\" min: -1 max: 1 }");
  LayerRig apart(GetParam(), text, {{3, 4, 5}}), inside(GetParam(), text, {{3, 4, 5}});
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
  EXPECT_EQ(inside.blob(0).diff_vector(), apart.blob(0).diff_vector());
}

TEST_P(ScaleTest, GradientsAreSlopes) {
  LayerRig(GetParam(), scale("bias_term: true"), {{2, 3, 4}}).check_gradients();
  LayerRig(GetParam(), scale("axis: 0 num_axes: 2"), {{2, 3, 4}}).check_gradients();
  LayerRig(GetParam(), scale(), {{2, 3, 4}, {3}}).check_gradients();
  LayerRig(GetParam(), scale("num_axes: 0 axis: 0 bias_term: true"), {{5}}).check_gradients();
}

TEST_P(ScaleTest, MistakesAreNamed) {
  EXPECT_THROW(LayerRig(GetParam(), scale(), {{2, 3}, {4}}), ShapeError);
  EXPECT_THROW(LayerRig(GetParam(), scale("axis: 1 num_axes: 3"), {{2, 3}}), ConfigError);
}

INSTANTIATE_TEST_SUITE_P(Backends, ScaleTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::scale_test
