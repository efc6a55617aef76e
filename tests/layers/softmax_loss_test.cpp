#include "core/base/error.h"
#include "layers/softmax_loss/oracle.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::softmax_loss_test {
namespace {

std::string loss(const std::string& more = "") { return "name: \"l\" type: \"SoftmaxWithLoss\" " + more; }

class SoftmaxLossTest : public ::testing::TestWithParam<std::string> {
 protected:
  static float label(i64 i, i64 classes) { return static_cast<float>((7 * i + 3) % classes); }
};

TEST_P(SoftmaxLossTest, IsTheOracleUnderEveryNormalisation) {
  struct Case {
    std::string parameter;
    Shape scores, labels;
    oracle::SoftmaxLoss oracle;
    double normaliser;  // 0: the labels that count
  };
  const std::vector<Case> cases = {
      {"", {5, 10}, {5}, {{5, 10, 1}}, 5},
      {"", {1, 1}, {1}, {{1, 1, 1}}, 1},
      {"", {2, 4, 3, 5}, {2, 1, 3, 5}, {{2, 4, 15}}, 30},
      {"", {2, 21, 45, 41}, {2, 1, 45, 41}, {{2, 21, 1845}}, 3690},
      {"loss_param { ignore_label: 2 }", {2, 4, 3, 5}, {2, 1, 3, 5}, {{2, 4, 15}, true, 2}, 0},
      {"loss_param { ignore_label: 2 normalization: FULL }", {2, 4, 3, 5}, {2, 1, 3, 5}, {{2, 4, 15}, true, 2}, 30},
      {"loss_param { normalization: BATCH_SIZE }", {2, 4, 3, 5}, {2, 1, 3, 5}, {{2, 4, 15}}, 2},
      {"loss_param { normalization: NONE }", {6, 3}, {6}, {{6, 3, 1}}, 1},
      {"loss_param { normalize: false }", {2, 4, 3, 5}, {2, 1, 3, 5}, {{2, 4, 15}}, 2},
      {"softmax_param { axis: 0 }", {4, 6}, {6}, {{1, 4, 6}}, 6},
      {"loss_param { label_smoothing: 0.1 }", {5, 10}, {5}, {{5, 10, 1}, false, 0, 0.1}, 5},
      {"loss_param { label_smoothing: 0.5 }", {1, 1}, {1}, {{1, 1, 1}, false, 0, 0.5}, 1},
      {"loss_param { label_smoothing: 0.3 ignore_label: 2 }",
       {2, 21, 45, 41},
       {2, 1, 45, 41},
       {{2, 21, 1845}, true, 2, 0.3},
       0},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.parameter + " " + to_string(c.scores));
    LayerRig rig(GetParam(), loss(c.parameter), {c.scores, c.labels});
    rig.fill_bottom(0, [](i64 i) { return 4 * noise(1, i); });
    rig.fill_bottom(1, [&](i64 i) { return label(i, c.oracle.softmax.classes); });
    rig.forward();
    const auto x = rig.bottom(0).data_vector(), labels = rig.bottom(1).data_vector();
    const double n = c.normaliser > 0 ? c.normaliser : static_cast<double>(c.oracle.counted(labels));
    EXPECT_NEAR(rig.top(0).data_vector()[0], c.oracle.loss(x, labels, n), 1e-5 * (1 + c.oracle.loss(x, labels, n)));
    rig.fill_top_diff(0, [](i64) { return 0.5f; });
    rig.backward();
    expect_near(rig.bottom(0).diff_vector(), c.oracle.gradient(x, labels, 2 * n), 1e-7f, 1e-4f);
  }
}

TEST_P(SoftmaxLossTest, EveryLabelIgnoredGivesZero) {
  LayerRig rig(GetParam(), loss("loss_param { ignore_label: 255 }"), {{3, 4}, {3}});
  rig.fill_bottom(1, [](i64) { return 255.0f; });
  rig.forward();
  EXPECT_EQ(rig.top(0).data_vector()[0], 0.0f);
  rig.fill_top_diff(0, [](i64) { return 1.0f; });
  rig.backward();
  for (const float v : rig.bottom(0).diff_vector()) EXPECT_EQ(v, 0.0f);
}

TEST_P(SoftmaxLossTest, SecondTopIsTheSoftmax) {
  LayerRig rig(GetParam(), loss(), {{3, 6}, {3}}, 2);
  rig.fill_bottom(1, [](i64 i) { return static_cast<float>(i); });
  rig.forward();
  expect_near(rig.top(1).data_vector(), oracle::Softmax{3, 6, 1}.forward(rig.bottom(0).data_vector()), 1e-7f, 1e-5f);
}

TEST_P(SoftmaxLossTest, MistakesAreNamed) {
  LayerRig rig(GetParam(), loss(), {{3, 4}, {3}});
  rig.fill_bottom(1, [](i64 i) { return i == 1 ? 4.0f : 0.0f; });
  try {
    rig.forward();
    FAIL() << "a label that is no class was accepted";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("layer 'l': sample 1 of this batch"), std::string::npos) << error.what();
  }
  EXPECT_THROW(LayerRig(GetParam(), loss(), {{3, 4}, {4}}), ShapeError);
  for (const char* odd : {"-0.1", "1", "nan"})
    EXPECT_THROW(LayerRig(GetParam(), loss("loss_param { label_smoothing: " + std::string(odd) + " }"), {{3, 4}, {3}}),
                 ConfigError)
        << odd;
  EXPECT_THROW(
      LayerRig(GetParam(), "name: \"l\" type: \"HingeLoss\" loss_param { label_smoothing: 0.1 }", {{3, 4}, {3}}),
      ConfigError);
}

TEST_P(SoftmaxLossTest, GradientsAreSlopes) {
  LayerRig rig(GetParam(), loss("loss_param { ignore_label: 1 }"), {{2, 3, 2}, {2, 2}});
  rig.fill_bottom(1, [](i64 i) { return static_cast<float>(i % 3); });
  rig.check_gradients();
  LayerRig smooth(GetParam(), loss("loss_param { label_smoothing: 0.2 }"), {{2, 3, 2}, {2, 2}});
  smooth.fill_bottom(1, [](i64 i) { return static_cast<float>(i % 3); });
  smooth.check_gradients();
}

INSTANTIATE_TEST_SUITE_P(Backends, SoftmaxLossTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::softmax_loss_test
