#include <limits>
#include <sstream>

#include "core/base/error.h"
#include "layers/accuracy/oracle.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::accuracy_test {
namespace {

std::string accuracy(const std::string& parameter) {
  return "name: \"a\" type: \"Accuracy\" accuracy_param { " + parameter + " }";
}

class AccuracyTest : public ::testing::TestWithParam<std::string> {};

TEST_P(AccuracyTest, IsTheOracle) {
  struct Case {
    std::string parameter;
    Shape scores, labels;
    oracle::Accuracy oracle;
  };
  const std::vector<Case> cases = {
      {"", {50, 10}, {50}, {50, 10, 1}},
      {"top_k: 3", {50, 10}, {50}, {50, 10, 1, 3}},
      {"top_k: 1", {1, 1}, {1}, {1, 1, 1}},
      {"top_k: 2", {3, 5, 4, 7}, {3, 1, 4, 7}, {3, 5, 28, 2}},
      {"ignore_label: 1 top_k: 2", {3, 5, 40, 70}, {3, 1, 40, 70}, {3, 5, 2800, 2, true, 1}},
      {"axis: 0", {4, 9}, {9}, {1, 4, 9}}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.parameter + " " + to_string(c.scores));
    LayerRig rig(GetParam(), accuracy(c.parameter), {c.scores, c.labels}, 2);
    // Few distinct scores, so that many tie.
    rig.fill_bottom(0, [](i64 i) { return static_cast<float>(static_cast<int>(4 * noise(1, i))); });
    rig.fill_bottom(1, [&](i64 i) { return static_cast<float>((5 * i + 2) % c.oracle.classes); });
    rig.forward();
    auto expected = c.oracle.means(rig.bottom(0).data_vector(), rig.bottom(1).data_vector());
    EXPECT_NEAR(rig.top(0).data_vector()[0], expected[0], 1e-6f);
    expected.erase(expected.begin());
    expect_near(rig.top(1).data_vector(), expected, 1e-6f, 0);
  }
}

TEST_P(AccuracyTest, AllIgnoredGivesZeroAndBadLabelsAreNamed) {
  LayerRig rig(GetParam(), accuracy("ignore_label: 3"), {{4, 3}, {4}});
  rig.fill_bottom(1, [](i64) { return 3.0f; });
  rig.forward();
  EXPECT_EQ(rig.top(0).data_vector()[0], 0.0f);
  for (const float label : {7.0f, -1.0f, 1.5f, 3.25f, std::numeric_limits<float>::quiet_NaN()}) {
    rig.fill_bottom(1, [&](i64 i) { return i == 2 ? label : 0.0f; });
    std::ostringstream due;
    due << "layer 'a': sample 2 of this batch, number 2 since the beginning, has the label " << label
        << "; labels are whole numbers from 0 to 2, or 3, which is ignored";
    try {
      rig.forward();
      ADD_FAILURE() << label << " was taken";
    } catch (const ConfigError& error) { EXPECT_EQ(std::string(error.what()).substr(0, due.str().size()), due.str()); }
  }
}

TEST_P(AccuracyTest, NaNIsNeverRight) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const int top_k : {1, 4}) {
    LayerRig rig(GetParam(), accuracy("top_k: " + std::to_string(top_k)), {{6, 4}, {6}});
    rig.fill_bottom(0, [&](i64 i) { return i < 8 ? nan : i % 4 == 1 ? 2.0f : 1.0f; });  // of samples 0 and 1 all
    rig.fill_bottom(1, [](i64) { return 1.0f; });
    rig.forward();
    EXPECT_NEAR(rig.top(0).data_vector()[0], 4.0f / 6, 1e-6f);
  }
  LayerRig rig(GetParam(), accuracy(""), {{2, 4}, {2}});
  rig.fill_bottom(0, [&](i64 i) { return i == 3 ? nan : i % 4 == 1 ? 2.0f : 1.0f; });  // another class's
  rig.fill_bottom(1, [](i64) { return 1.0f; });
  rig.forward();
  EXPECT_EQ(rig.top(0).data_vector()[0], 0.5f);
}

TEST_P(AccuracyTest, MistakesAreNamed) {
  EXPECT_THROW(LayerRig(GetParam(), accuracy("top_k: 4"), {{2, 3}, {2}}), ConfigError);
  EXPECT_THROW(LayerRig(GetParam(), accuracy(""), {{2, 3}, {3}}), ShapeError);
}

INSTANTIATE_TEST_SUITE_P(Backends, AccuracyTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::accuracy_test
