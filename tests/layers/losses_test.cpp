// The losses that are not SoftmaxWithLoss.
#include <cmath>
#include <limits>
#include <sstream>

#include "core/base/error.h"
#include "layers/loss/oracle.h"
#include "layers/softmax/oracle.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::losses_test {
namespace {

class LossesTest : public ::testing::TestWithParam<std::string> {
 protected:
  static std::string text(const std::string& type, const std::string& options = "") {
    return "name: \"loss\" type: \"" + type + "\" " + options;
  }
  static void fill_labels(LayerRig& rig, std::size_t bottom, i64 classes) {
    rig.fill_bottom(bottom, [=](i64 i) { return static_cast<float>((7 * i + 1) % classes); });
  }
  static void expect_loss(LayerRig& rig, double wanted) {
    rig.forward();
    EXPECT_NEAR(double{rig.top(0).data_vector()[0]}, wanted, 1e-5 * (1 + std::fabs(wanted)));
  }
};

TEST_P(LossesTest, EuclideanIsTheOracle) {
  for (const Shape& shape : {Shape{1}, Shape{5, 3}, Shape{2, 3, 5, 701}}) {
    LayerRig rig(GetParam(), text("EuclideanLoss"), {shape, shape});
    expect_loss(rig, oracle::euclidean_loss(rig.bottom(0).data_vector(), rig.bottom(1).data_vector(), shape[0]));
  }
  LayerRig(GetParam(), text("EuclideanLoss"), {{3, 4}, {3, 4}}).check_gradients();
}

TEST_P(LossesTest, SigmoidCrossEntropyIsTheOracle) {
  for (const Shape& shape : {Shape{1}, Shape{5, 3}, Shape{2, 3, 5, 701}}) {
    LayerRig rig(GetParam(), text("SigmoidCrossEntropyLoss"), {shape, shape});
    rig.fill_bottom(0, [](i64 i) { return 4 * noise(1, i); });
    rig.fill_bottom(1, [](i64 i) { return 0.5f + 0.5f * noise(2, i); });
    i64 counted = 0;
    expect_loss(rig,
                oracle::sigmoid_cross_entropy(rig.bottom(0).data_vector(), rig.bottom(1).data_vector(), -1, counted) /
                    static_cast<double>(shape[0]));
  }
}

TEST_P(LossesTest, SigmoidCrossEntropyLeavesIgnoredTargetsOut) {
  for (const std::string mode : {"VALID", "FULL", "BATCH_SIZE", "NONE"}) {
    SCOPED_TRACE(mode);
    LayerRig rig(GetParam(),
                 text("SigmoidCrossEntropyLoss", "loss_param { ignore_label: 2 normalization: " + mode + " }"),
                 {{4, 5}, {4, 5}});
    rig.fill_bottom(1, [](i64 i) { return static_cast<float>(i % 3) + 0.25f; });
    i64 counted = 0;
    const double sum =
        oracle::sigmoid_cross_entropy(rig.bottom(0).data_vector(), rig.bottom(1).data_vector(), 2, counted);
    const double by = mode == "VALID"        ? static_cast<double>(counted)
                      : mode == "FULL"       ? 20
                      : mode == "BATCH_SIZE" ? 4
                                             : 1;
    expect_loss(rig, sum / by);
    rig.check_gradients();
  }
}

TEST_P(LossesTest, HingeIsTheOracle) {
  for (const bool squared : {false, true})
    for (const Shape& shape : {Shape{1, 1}, Shape{5, 3}, Shape{3, 1, 1, 4099}}) {
      SCOPED_TRACE(to_string(shape));
      LayerRig rig(GetParam(), text("HingeLoss", squared ? "hinge_loss_param { norm: L2 }" : ""), {shape, {shape[0]}});
      fill_labels(rig, 1, count_of(shape) / shape[0]);
      expect_loss(rig, oracle::hinge_loss(rig.bottom(0).data_vector(), rig.bottom(1).data_vector(), squared));
      if (count_of(shape) < 100) rig.check_gradients(1e-2f, 1e-2f, true);
    }
}

TEST_P(LossesTest, MultinomialLogisticIsTheOracle) {
  for (const Shape& shape : {Shape{1, 1}, Shape{5, 3}, Shape{3, 4099}}) {
    LayerRig rig(GetParam(), text("MultinomialLogisticLoss"), {shape, {shape[0]}});
    rig.fill_bottom(0, [](i64 i) { return 0.6f + 0.4f * noise(3, i); });
    fill_labels(rig, 1, shape[1]);
    expect_loss(rig, oracle::multinomial_logistic_loss(rig.bottom(0).data_vector(), rig.bottom(1).data_vector()));
    if (count_of(shape) < 100) rig.check_gradients(1e-3f);
  }
}

TEST_P(LossesTest, ContrastiveIsTheOracle) {
  for (const bool legacy : {false, true})
    for (const Shape& shape : {Shape{1, 1}, Shape{6, 3}, Shape{4, 5003}}) {
      SCOPED_TRACE(to_string(shape));
      LayerRig rig(GetParam(),
                   text("ContrastiveLoss", std::string("contrastive_loss_param { margin: 1.5 legacy_version: ") +
                                               (legacy ? "true }" : "false }")),
                   {shape, shape, {shape[0]}});
      rig.fill_bottom(2, [](i64 i) { return static_cast<float>(i % 2); });
      expect_loss(rig, oracle::contrastive_loss(rig.bottom(0).data_vector(), rig.bottom(1).data_vector(),
                                                rig.bottom(2).data_vector(), 1.5, legacy));
      if (count_of(shape) < 100) rig.check_gradients(1e-2f, 1e-2f, true);
    }
}

/// One pair of equal features must not divide by their distance.
TEST_P(LossesTest, ContrastiveOfEqualFeaturesIsFinite) {
  LayerRig rig(GetParam(), text("ContrastiveLoss"), {{1, 3}, {1, 3}, {1}});
  for (const std::size_t i : {0, 1}) rig.fill_bottom(i, [](i64) { return 0.5f; });
  rig.fill_bottom(2, [](i64) { return 0.0f; });
  rig.forward();
  rig.fill_top_diff(0, [](i64) { return 1.0f; });
  rig.backward();
  EXPECT_EQ(rig.bottom(0).diff_vector(), std::vector<float>(3, 0.0f));
}

TEST_P(LossesTest, InfogainIsTheDefinition) {
  struct Case {
    Shape scores;
    i64 classes, inner;
  };
  for (const Case& c : {Case{{6, 5}, 5, 1}, Case{{2, 3, 4, 7}, 3, 28}, Case{{1, 2, 70}, 2, 70}})
    for (const bool ignores : {false, true}) {
      SCOPED_TRACE(to_string(c.scores));
      const i64 outer = c.scores[0];
      LayerRig rig(GetParam(), text("InfogainLoss", ignores ? "loss_param { ignore_label: 1 }" : ""),
                   {c.scores, {outer * c.inner}, {1, 1, c.classes, c.classes}});
      fill_labels(rig, 1, c.classes);
      rig.fill_bottom(2, [](i64 i) { return 0.5f + 0.5f * noise(4, i); });
      const oracle::Softmax softmax{outer, c.classes, c.inner};
      const auto p = softmax.forward(rig.bottom(0).data_vector()), labels = rig.bottom(1).data_vector(),
                 gains = rig.bottom(2).data_vector();
      double sum = 0, counted = 0;
      for (i64 o = 0; o < outer; ++o)
        for (i64 i = 0; i < c.inner; ++i) {
          const auto label = static_cast<i64>(labels[static_cast<std::size_t>(o * c.inner + i)]);
          if (ignores && label == 1) continue;
          ++counted;
          for (i64 k = 0; k < c.classes; ++k)
            sum -= double{gains[static_cast<std::size_t>(label * c.classes + k)]} *
                   std::log(double{p[softmax.at(o, k, i)]});
        }
      expect_loss(rig, sum / counted);
      if (c.inner == 1) rig.check_gradients();
    }
}

TEST_P(LossesTest, MistakesAreNamed) {
  EXPECT_THROW(LayerRig(GetParam(), text("EuclideanLoss"), {{2, 3}, {2, 4}}), ShapeError);
  EXPECT_THROW(LayerRig(GetParam(), text("SigmoidCrossEntropyLoss"), {{2, 3}, {3}}), ShapeError);
  EXPECT_THROW(LayerRig(GetParam(), text("HingeLoss"), {{2, 3}, {3}}), ShapeError);
  EXPECT_THROW(LayerRig(GetParam(), text("ContrastiveLoss"), {{2, 3}, {2, 3}, {3}}), ShapeError);
  EXPECT_THROW(LayerRig(GetParam(), text("InfogainLoss"), {{2, 3}, {2}}), ConfigError);
  EXPECT_THROW(LayerRig(GetParam(), text("InfogainLoss"), {{2, 3}, {2}, {3, 2}}), ShapeError);
}

TEST_P(LossesTest, LabelsThatAreNoClassAreNamed) {
  for (const std::string type : {"HingeLoss", "MultinomialLogisticLoss", "SoftmaxWithLoss", "InfogainLoss"})
    for (const float label : {3.0f, -1.0f, 0.5f, std::numeric_limits<float>::quiet_NaN()}) {
      std::vector<Shape> bottoms = {{2, 3}, {2}};
      if (type == "InfogainLoss") bottoms.push_back({1, 1, 3, 3});
      LayerRig rig(GetParam(), text(type), bottoms);
      rig.fill_bottom(1, [&](i64 i) { return i == 1 ? label : 0.0f; });
      std::ostringstream due;
      due << "sample 1 of this batch, number 1 since the beginning, has the label " << label
          << "; labels are whole numbers from 0 to 2";
      std::string message;
      try {
        rig.forward();
      } catch (const ConfigError& error) { message = error.what(); }
      EXPECT_NE(message.find(due.str()), std::string::npos) << type << ": " << message;
    }
}

TEST_P(LossesTest, PairsAreSimilarOrNot) {
  LayerRig rig(GetParam(), text("ContrastiveLoss"), {{2, 3}, {2, 3}, {2}});
  for (const float similar : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    rig.fill_bottom(2, [&](i64 i) { return i == 1 ? similar : 0.0f; });
    std::string message;
    try {
      rig.forward();
    } catch (const ConfigError& error) { message = error.what(); }
    EXPECT_NE(message.find("whether pair 1 of this batch is similar is " + std::to_string(similar)), std::string::npos)
        << message;
  }
  rig.fill_bottom(2, [](i64 i) { return i == 1 ? 1e30f : -1.0f; });
  EXPECT_NO_THROW(rig.forward()) << "more than nothing is similar";
}

TEST_P(LossesTest, IgnoredLabelsAreWholeNumbersToo) {
  LayerRig rig(GetParam(), text("SoftmaxWithLoss", "loss_param { ignore_label: 255 }"), {{2, 3}, {2}});
  rig.fill_bottom(1, [](i64 i) { return i == 1 ? 255.0f : 0.0f; });
  rig.forward();
  rig.fill_bottom(1, [](i64 i) { return i == 1 ? 255.5f : 0.0f; });
  EXPECT_THROW(rig.forward(), ConfigError);
}

INSTANTIATE_TEST_SUITE_P(Backends, LossesTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::losses_test
