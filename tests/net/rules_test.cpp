#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/formats/prototxt.h"
#include "core/net/known_net.h"
#include "core/net/passes/net_text.h"
#include "layers/all_layers.h"

namespace cortado::test::rules_test {
namespace {
template <class Message>
Message parsed(const std::string& text) {
  Message message;
  parse_text(text, "test", message);
  return message;
}

bool met(const std::string& state, const std::string& rule) {
  return meets(parsed<caffe::NetState>(state), parsed<caffe::NetStateRule>(rule));
}

TEST(Rules, PhaseLevelAndStages) {
  EXPECT_TRUE(met("phase: TRAIN", ""));
  EXPECT_TRUE(met("phase: TRAIN", "phase: TRAIN"));
  EXPECT_FALSE(met("phase: TRAIN", "phase: TEST"));
  EXPECT_TRUE(met("level: 2", "min_level: 2 max_level: 2"));
  EXPECT_FALSE(met("level: 1", "min_level: 2"));
  EXPECT_FALSE(met("level: 3", "max_level: 2"));
  EXPECT_TRUE(met("stage: 'a' stage: 'b'", "stage: 'b' stage: 'a' not_stage: 'c'"));
  EXPECT_FALSE(met("stage: 'a'", "stage: 'a' stage: 'b'"));
  EXPECT_FALSE(met("stage: 'a' stage: 'c'", "stage: 'a' not_stage: 'c'"));
  EXPECT_FALSE(met("phase: TEST level: 5", "phase: TEST max_level: 4"));  // one broken condition suffices
}

std::string kept(const std::string& net) {
  std::string names;
  const auto filtered = filter_layers(parsed<caffe::NetParameter>(net));
  for (const auto& layer : filtered.layer()) names += layer.name();
  return names;
}

TEST(Rules, FilterKeepsLayersOfTheState) {
  const std::string layers = R"(
    layer { name: "a" }
    layer { name: "b" include { phase: TRAIN } }
    layer { name: "c" include { phase: TEST } include { stage: "deploy" } }
    layer { name: "d" exclude { phase: TRAIN } exclude { min_level: 1 } })";
  EXPECT_EQ(kept("state { phase: TRAIN } " + layers), "ab");
  EXPECT_EQ(kept("state { phase: TEST } " + layers), "acd");
  EXPECT_EQ(kept("state { phase: TRAIN stage: 'deploy' } " + layers), "abc");
  EXPECT_EQ(kept("state { phase: TEST level: 1 } " + layers), "ac");
}

TEST(Rules, StagesWithoutARuleAreTold) {
  testing::internal::CaptureStderr();
  warn_of_unknown_stages(parsed<caffe::NetParameter>(R"(
    name: "n" state { stage: "deploy" stage: "dugits" stage: "x" }
    layer { name: "a" include { stage: "digits" } }
    layer { name: "b" exclude { not_stage: "deploy" } })"));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("for the stage 'dugits' (did you mean 'digits'?)"), std::string::npos) << log;
  EXPECT_NE(log.find("for the stage 'x'\n"), std::string::npos) << log;
  EXPECT_EQ(log.find("'deploy'"), std::string::npos) << log;
}

TEST(Rules, IncludeAndExcludeTogetherAreAMistake) {
  EXPECT_THROW(kept("layer { name: 'a' include {} exclude {} }"), ConfigError);
}

/// "name(bottoms>tops)" of every layer.
std::string wiring(const std::string& text) {
  std::string all;
  const auto split = insert_splits(parsed<caffe::NetParameter>(text), all_layers());
  for (const auto& layer : split.layer()) {
    all += layer.name() + "(";
    for (const auto& b : layer.bottom()) all += b + " ";
    all += ">";
    for (const auto& t : layer.top()) all += " " + t;
    all += ") ";
  }
  return all;
}

TEST(Splits, OneConsumerNeedsNone) {
  EXPECT_EQ(wiring("layer { name: 'l' top: 'x' } layer { name: 'm' bottom: 'x' top: 'y' }"), "l(> x) m(x > y) ");
}

TEST(Splits, TwoConsumersGetACopyEach) {
  EXPECT_EQ(wiring("layer { name: 'l' top: 'w' top: 'x' } layer { name: 'm' bottom: 'x' } layer { name: 'n' bottom: "
                   "'x' bottom: 'x' }"),
            "l(> w x) x_l_1_split(x > x_l_1_split_0 x_l_1_split_1 x_l_1_split_2) m(x_l_1_split_0 >) "
            "n(x_l_1_split_1 x_l_1_split_2 >) ");
}

TEST(Splits, InPlaceTopsAreNewTops) {
  // The first x feeds only the in-place layer; the second has two consumers.
  EXPECT_EQ(wiring("layer { name: 'l' top: 'x' } layer { name: 'r' bottom: 'x' top: 'x' } "
                   "layer { name: 'm' bottom: 'x' } layer { name: 'n' bottom: 'x' }"),
            "l(> x) r(x > x) x_r_0_split(x > x_r_0_split_0 x_r_0_split_1) m(x_r_0_split_0 >) n(x_r_0_split_1 >) ");
}

TEST(Splits, ALossCountsAsAConsumerAndMovesToTheFirstCopy) {
  const auto net = insert_splits(
      parsed<caffe::NetParameter>(
          "layer { name: 'l' top: 'w' top: 'x' loss_weight: 2 loss_weight: 0.5 } layer { name: 'm' bottom: 'x' }"),
      all_layers());
  ASSERT_EQ(net.layer_size(), 3);
  EXPECT_EQ(net.layer(0).loss_weight(0), 2);
  EXPECT_EQ(net.layer(0).loss_weight(1), 0);
  ASSERT_EQ(net.layer(1).loss_weight_size(), 2);
  EXPECT_EQ(net.layer(1).loss_weight(0), 0.5f);
  EXPECT_EQ(net.layer(1).loss_weight(1), 0);
  EXPECT_EQ(net.layer(2).bottom(0), "x_l_1_split_1");
}

TEST(Splits, AnUnknownBottomIsNamedWithItsLayer) {
  try {
    wiring("layer { name: 'm' bottom: 'x' } layer { name: 'late' top: 'x' }");
    FAIL() << "an unknown bottom was accepted";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(
        error.what(),
        "layer 'm': bottom 'x' (index 0) is made by no earlier layer (layer 'late' makes it, and must stand before)");
  }
}

}  // namespace
}  // namespace cortado::test::rules_test
