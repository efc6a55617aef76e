#include "layers/split/oracle.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::split_test {
namespace {

const char* const text = "name: \"s\" type: \"Split\"";

class SplitTest : public ::testing::TestWithParam<std::string> {};

TEST_P(SplitTest, SharesValuesAndAddsGradients) {
  for (const int tops : {1, 2, 3, 5})
    for (const Shape& shape : {Shape{1}, Shape{2, 3, 5}, Shape{3, 12347}}) {
      LayerRig rig(GetParam(), text, {shape}, tops);
      rig.forward();
      std::vector<std::vector<float>> diffs;
      for (std::size_t t = 0; t < static_cast<std::size_t>(tops); ++t) {
        EXPECT_EQ(rig.top(t).data(), rig.bottom(0).data());
        rig.fill_top_diff(t, [t](i64 i) { return noise(10 + t, i); });
        diffs.push_back(rig.top(t).diff_vector());
      }
      rig.backward();
      EXPECT_EQ(rig.bottom(0).diff_vector(), oracle::split_backward(diffs));
    }
}

TEST_P(SplitTest, GradientsAreSlopes) { LayerRig(GetParam(), text, {{2, 3}}, 3).check_gradients(); }

INSTANTIATE_TEST_SUITE_P(Backends, SplitTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::split_test
