#include "core/base/error.h"
#include "layers/concat/oracle.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::concat_test {
namespace {

class ConcatTest : public ::testing::TestWithParam<std::string> {};

std::string concat(const std::string& options = "") {
  return "name: \"c\" type: \"Concat\" concat_param { " + options + " }";
}

TEST_P(ConcatTest, IsTheOracle) {
  struct Case {
    std::string options;
    std::vector<Shape> bottoms;
    oracle::Concat oracle;
  };
  const std::vector<Case> cases = {
      {"", {{2, 1, 3}, {2, 4, 3}}, {2, {3, 12}}},
      {"axis: -1", {{2, 3}, {2, 1}, {2, 5}}, {2, {3, 1, 5}}},
      {"axis: 0", {{1, 7}, {3, 7}}, {1, {7, 21}}},
      {"concat_dim: 1", {{3, 2, 11, 13}, {3, 65, 11, 13}}, {3, {286, 9295}}},
      {"axis: 2", {{1, 2, 1, 70000}, {1, 2, 1, 70000}}, {2, {70000, 70000}}},
      {"", {{4, 6}}, {4, {6}}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(to_string(c.bottoms[0]) + " " + c.options);
    LayerRig rig(GetParam(), concat(c.options), c.bottoms);
    rig.forward();
    std::vector<std::vector<float>> parts;
    for (std::size_t i = 0; i < c.bottoms.size(); ++i) parts.push_back(rig.bottom(i).data_vector());
    EXPECT_EQ(rig.top(0).data_vector(), c.oracle.join(parts));
    rig.fill_top_diff(0, [](i64 i) { return noise(9, i); });
    rig.backward();
    const auto gradients = c.oracle.cut(rig.top(0).diff_vector());
    for (std::size_t i = 0; i < c.bottoms.size(); ++i) EXPECT_EQ(rig.bottom(i).diff_vector(), gradients[i]);
  }
}

TEST_P(ConcatTest, OnlyAskedGradientsAreWritten) {
  LayerRig rig(GetParam(), concat(), {{1, 2}, {1, 2}});
  rig.forward();
  rig.fill_top_diff(0, [](i64 i) { return static_cast<float>(i); });
  const std::vector<float> before = {7, 7};
  rig.bottom(0).write_diff(before.data());
  rig.backward({false, true});
  EXPECT_EQ(rig.bottom(0).diff_vector(), before);
  EXPECT_EQ(rig.bottom(1).diff_vector(), (std::vector<float>{2, 3}));
}

TEST_P(ConcatTest, GradientsAreSlopes) { LayerRig(GetParam(), concat(), {{2, 1, 3}, {2, 4, 3}}).check_gradients(); }

TEST_P(ConcatTest, MistakesAreNamed) {
  EXPECT_THROW(LayerRig(GetParam(), concat(), {{2, 3, 4}, {2, 3, 5}}), ShapeError);
  EXPECT_THROW(LayerRig(GetParam(), concat(), {{2, 3}, {2, 3, 1}}), ShapeError);
  EXPECT_THROW(LayerRig(GetParam(), concat("axis: 1 concat_dim: 1"), {{2, 3}, {2, 3}}), ConfigError);
}

INSTANTIATE_TEST_SUITE_P(Backends, ConcatTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::concat_test
