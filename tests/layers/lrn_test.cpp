#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "layers/lrn/oracle.h"
#include "layers/lrn/programs.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::lrn_test {
namespace {

class LrnTest : public ::testing::TestWithParam<std::string> {};

std::string lrn(const std::string& options) { return "name: \"l\" type: \"LRN\" lrn_param { " + options + " }"; }

TEST_P(LrnTest, IsTheOracle) {
  struct Case {
    std::string options;
    oracle::Lrn oracle;
  };
  const std::vector<Case> cases = {
      {"alpha: 0.5", {2, 5, 3, 4, true, 2, 0.5 / 5, 1, 0.75}},
      {"alpha: 0.5 k: 2 beta: 0.5 local_size: 3", {2, 7, 5, 5, true, 1, 0.5 / 3, 2, 0.5}},
      {"alpha: 0.9 local_size: 7", {1, 2, 3, 3, true, 3, 0.9 / 7, 1, 0.75}},
      {"alpha: 0.9 local_size: 7", {2, 17, 5, 7, true, 3, 0.9 / 7, 1, 0.75}},
      {"alpha: 0.5 local_size: 3 k: 0.001 beta: 1.5", {1, 6, 4, 9, true, 1, 0.5 / 3, 0.001, 1.5}},
      {"alpha: 0.5 local_size: 1", {3, 1, 1, 1, true, 0, 0.5, 1, 0.75}},
      {"alpha: 0.5", {1, 96, 27, 27, true, 2, 0.5 / 5, 1, 0.75}},
      {"alpha: 0.5", {1, 3, 150, 61, true, 2, 0.5 / 5, 1, 0.75}},
      {"alpha: 0.5 norm_region: WITHIN_CHANNEL", {1, 3, 150, 61, false, 2, 0.5 / 25, 1, 0.75}},
      {"alpha: 2 norm_region: WITHIN_CHANNEL local_size: 3 beta: 1", {2, 2, 4, 5, false, 1, 2.0 / 9, 1, 1}},
      {"alpha: 1 norm_region: WITHIN_CHANNEL local_size: 5", {1, 1, 1, 1, false, 2, 1.0 / 25, 1, 0.75}},
  };
  for (const auto& c : cases) {
    const Shape shape = {c.oracle.n, c.oracle.c, c.oracle.h, c.oracle.w};
    SCOPED_TRACE(to_string(shape) + " " + c.options);
    LayerRig rig(GetParam(), lrn(c.options), {shape});
    rig.fill_bottom(0, [](i64 i) { return i % 11 == 0 ? 0.0f : 3 * noise(1, i); });
    rig.forward();
    const auto x = rig.bottom(0).data_vector();
    expect_near(rig.top(0).data_vector(), c.oracle.forward(x), 1e-6f, 1e-5f);
    rig.fill_top_diff(0, [](i64 i) { return noise(2, i); });
    rig.backward();
    expect_near(rig.bottom(0).diff_vector(), c.oracle.backward(x, rig.top(0).diff_vector()), 2e-6f, 1e-4f);
  }
}

TEST(Lrn, InverseFourthRootIsWithinFiveQuartersOfAnUlp) {
  double worst = 0;
  for (std::uint32_t bits = 0x00800000u; bits < 0x7F800000u; bits += 997) {
    const float x = math::float_of(bits);
    const double exact = std::pow(static_cast<double>(x), -0.25);
    const double ulp = std::ldexp(1.0, std::ilogb(exact) - 23);
    if (x <= 3.0e38f) worst = std::max(worst, std::fabs(inverse_fourth_root(x) - exact) / ulp);
  }
  EXPECT_GT(worst, 0.4);
  EXPECT_LE(worst, 1.25);
  EXPECT_EQ(inverse_fourth_root(std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_TRUE(std::isnan(inverse_fourth_root(std::numeric_limits<float>::quiet_NaN())));
}

TEST_P(LrnTest, GradientsAreSlopes) {
  LayerRig(GetParam(), lrn("alpha: 0.5 local_size: 3"), {{2, 5, 2, 3}}).check_gradients();
  LayerRig(GetParam(), lrn("alpha: 0.5 local_size: 3 norm_region: WITHIN_CHANNEL"), {{1, 2, 4, 5}}).check_gradients();
}

TEST_P(LrnTest, MistakesAreNamed) {
  EXPECT_THROW(LayerRig(GetParam(), lrn("local_size: 4"), {{1, 2, 3, 3}}), ConfigError);
  EXPECT_THROW(LayerRig(GetParam(), lrn(""), {{1, 2, 3}}), ShapeError);
}

INSTANTIATE_TEST_SUITE_P(Backends, LrnTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::lrn_test
