#include "core/base/error.h"
#include "layers/inner_product/oracle.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::inner_product_test {
namespace {

std::string text_of(const std::string& parameter) {
  return "name: \"ip\" type: \"InnerProduct\" inner_product_param { " + parameter +
         " weight_filler { type: \"uniform\" min: -1 max: 1 } bias_filler { type: \"uniform\" min: -1 max: 1 } }";
}

class InnerProductTest : public ::testing::TestWithParam<std::string> {};

TEST_P(InnerProductTest, EveryProductIsTheOracle) {
  struct Case {
    Shape bottom;
    std::string parameter;
    oracle::InnerProduct oracle;
  };
  const std::vector<Case> cases = {
      {{4, 5}, "num_output: 3", {4, 5, 3}},
      {{1, 1}, "num_output: 1", {1, 1, 1}},
      {{3, 2, 7, 5}, "num_output: 33 bias_term: false", {3, 70, 33}},
      {{65, 17}, "num_output: 129", {65, 17, 129}},
      {{2, 3, 4, 5}, "num_output: 6 axis: 2", {6, 20, 6}},
      {{5, 9}, "num_output: 4 transpose: true", {5, 9, 4, true}},
      {{3, 4, 5}, "num_output: 7 axis: -1 transpose: true bias_term: false", {12, 5, 7, true}},
  };
  for (const auto& c : cases)
    for (const char* product : {"library", "tile_program"}) {
      SCOPED_TRACE(c.parameter + " by " + product);
      LayerRig rig(GetParam(), text_of(c.parameter), {c.bottom});
      if (std::string(product) == "library" && rig.bottom(0).group().library() == nullptr) continue;
      rig.layer().choose_plans({{"product", product}});
      rig.forward();
      EXPECT_EQ(rig.layer().plans().at("product"), product);
      const auto x = rig.bottom(0).data_vector(), w = rig.blob(0).data_vector();
      const bool biased = rig.layer().blobs().size() == 2;
      expect_near(rig.top(0).data_vector(),
                  c.oracle.forward(x, w, biased ? rig.blob(1).data_vector() : std::vector<float>{}), 1e-5f, 1e-4f);
      rig.fill_top_diff(0, [](i64 i) { return noise(5, i); });
      rig.backward();
      const auto expected = c.oracle.backward(x, w, rig.top(0).diff_vector());
      expect_near(rig.bottom(0).diff_vector(), expected.x, 1e-5f, 1e-4f);
      expect_near(rig.blob(0).diff_vector(), expected.w, 1e-5f, 1e-4f);
      if (biased) expect_near(rig.blob(1).diff_vector(), expected.bias, 1e-5f, 1e-4f);
      auto twice = expected.w;
      for (float& gradient : twice) gradient *= 2;
      rig.layer().backward({&rig.top(0)}, {false}, {&rig.bottom(0)});
      expect_near(rig.blob(0).diff_vector(), twice, 1e-5f, 1e-4f);
    }
}

TEST_P(InnerProductTest, GradientsAreSlopes) {
  LayerRig rig(GetParam(), text_of("num_output: 3"), {{2, 4}});
  rig.check_gradients();
  LayerRig turned(GetParam(), text_of("num_output: 2 transpose: true"), {{3, 5}});
  turned.check_gradients();
}

TEST_P(InnerProductTest, ShapeOfTheTop) {
  LayerRig rig(GetParam(), text_of("num_output: 6 axis: 2"), {{2, 3, 4, 5}});
  EXPECT_EQ(rig.top(0).shape(), (Shape{2, 3, 6}));
  EXPECT_THROW(LayerRig(GetParam(), text_of("num_output: 0"), {{2, 3}}), ConfigError);
}

INSTANTIATE_TEST_SUITE_P(Backends, InnerProductTest, all_backends(), backend_name);
INSTANTIATE_TEST_SUITE_P(Further, InnerProductTest, more_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::inner_product_test
