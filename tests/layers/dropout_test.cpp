#include <algorithm>

#include "core/base/error.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::dropout_test {
namespace {

const char* const text = "name: \"d\" type: \"Dropout\" dropout_param { dropout_ratio: 0.3 }";

class DropoutTest : public ::testing::TestWithParam<std::string> {
 protected:
  /// The mask times the scale, as forward applies it to ones.
  std::vector<float> mask(i64 pass, int rank, int ranks, i64 batch) {
    LayerRig rig(GetParam(), text, {{batch, 5, 3, 3}});
    rig.run().pass = pass;
    rig.run().rank = rank;
    rig.run().ranks = ranks;
    rig.fill_bottom(0, [](i64) { return 1.0f; });
    rig.forward();
    return rig.top(0).data_vector();
  }
};

TEST_P(DropoutTest, KeepsTheShareAskedForAndScalesIt) {
  LayerRig rig(GetParam(), text, {{16, 1000}});
  rig.fill_bottom(0, [](i64) { return 1.0f; });
  rig.forward();
  const auto y = rig.top(0).data_vector();
  const auto kept = static_cast<double>(std::count_if(y.begin(), y.end(), [](float v) { return v != 0; }));
  EXPECT_NEAR(kept / 16000, 0.7, 0.02);
  for (const float v : y) EXPECT_TRUE(v == 0 || std::abs(v - 1 / 0.7f) < 1e-6f) << v;
}

TEST_P(DropoutTest, BackwardUsesTheSameMask) {
  LayerRig rig(GetParam(), text, {{7, 33}});
  rig.fill_bottom(0, [](i64) { return 1.0f; });
  rig.forward();
  rig.fill_top_diff(0, [](i64) { return 1.0f; });
  rig.backward();
  EXPECT_EQ(rig.bottom(0).diff_vector(), rig.top(0).data_vector());
}

TEST_P(DropoutTest, TwoRanksDropWhatOneRankDrops) {
  const auto one = mask(3, 0, 1, 6);
  auto both = mask(3, 0, 2, 3);
  const auto second = mask(3, 1, 2, 3);
  both.insert(both.end(), second.begin(), second.end());
  EXPECT_EQ(both, one);
}

TEST_P(DropoutTest, EveryPassHasItsOwnMask) { EXPECT_NE(mask(0, 0, 1, 4), mask(1, 0, 1, 4)); }

TEST_P(DropoutTest, TestingPassesValues) {
  LayerRig rig(GetParam(), text, {{2, 35}}, 1, Phase::test);
  rig.forward();
  EXPECT_EQ(rig.top(0).data_vector(), rig.bottom(0).data_vector());
  rig.fill_top_diff(0, [](i64 i) { return noise(4, i); });
  rig.backward();
  EXPECT_EQ(rig.bottom(0).diff_vector(), rig.top(0).diff_vector());
}

TEST_P(DropoutTest, RatioZeroDropsNothing) {
  LayerRig rig(GetParam(), "name: \"d\" type: \"Dropout\" dropout_param { dropout_ratio: 0 }", {{2, 35}});
  rig.forward();
  EXPECT_EQ(rig.top(0).data_vector(), rig.bottom(0).data_vector());
}

TEST_P(DropoutTest, RatioMustBeAProbability) {
  EXPECT_THROW(LayerRig(GetParam(), "name: \"d\" type: \"Dropout\" dropout_param { dropout_ratio: 1 }", {{4}}),
               ConfigError);
}

TEST_P(DropoutTest, GradientsAreSlopes) { LayerRig(GetParam(), text, {{3, 5}}).check_gradients(); }

INSTANTIATE_TEST_SUITE_P(Backends, DropoutTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::dropout_test
