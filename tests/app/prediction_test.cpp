#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>

#include "app/predict/prediction_machine.h"
#include "app/predict/published_prediction.h"
#include "comm/predict/division.h"
#include "comm/predict/speedup.h"
#include "core/base/error.h"

namespace cortado::test::prediction_test {
namespace {

LayerWork layer(const char* name, bool fully_connected, i64 parameters, i64 inputs, i64 outputs,
                std::vector<double> seconds) {
  return {name, fully_connected, parameters, inputs, outputs, seconds[0], seconds[1], seconds[2]};
}

/// Two convolutions and two fully connected layers; 1 s of an iteration is no layer's.
Work small() {
  return {8,
          {layer("conv1", false, 1000, 10, 20, {1, 0, 1}), layer("conv2", false, 2000, 20, 30, {1, 1, 1}),
           layer("fc1", true, 3000, 30, 40, {1, 1, 1}), layer("fc2", true, 4000, 40, 5, {1, 1, 1})},
          12};
}

/// A node of so many devices whose links carry `bandwidth`, without latency.
Links node_of(int devices, double bandwidth) {
  Links links;
  links.devices_per_node = devices;
  links.inside.bandwidth = bandwidth;
  return links;
}

TEST(LinkTest, LatencyIsInterpolatedBySize) {
  const Link link{{{100, 1}, {300, 2}}, 100};
  EXPECT_DOUBLE_EQ(link.seconds(50), 1 + 0.5);
  EXPECT_DOUBLE_EQ(link.seconds(200), 1.5 + 2);
  EXPECT_DOUBLE_EQ(link.seconds(400), 2 + 4);
  EXPECT_DOUBLE_EQ((Link{{}, 100}).seconds(200), 2);
}

TEST(LinkTest, EverybodySendsToAllOthers) {
  Links links = node_of(4, 100);
  EXPECT_EQ(links.to_all(1, 800), 0);
  EXPECT_DOUBLE_EQ(links.to_all(2, 800), 4);  // one message of a half
  links.switch_messages = 1;
  EXPECT_DOUBLE_EQ(links.to_all(2, 800), 4) << "a pair shares a switch, but nobody waits for it";
  EXPECT_DOUBLE_EQ(links.to_all(4, 800), 8);  // as long as four messages of a quarter
  links.across = {{{0, 1}}, 50};
  EXPECT_DOUBLE_EQ(links.to_all(8, 800), 4 * 1 + (1 + 8));  // eighths inside, a half across
}

TEST(PredictionTest, OneDeviceSendsNothing) {
  for (const auto way : {FullyConnected::data, FullyConnected::model, FullyConnected::whole}) {
    Parallelism how;
    how.fully_connected = way;
    const Prediction p = predict(small(), node_of(4, 1), {}, how, 1);
    EXPECT_DOUBLE_EQ(p.speedup, 1);
    EXPECT_DOUBLE_EQ(p.iteration, 12);
    EXPECT_TRUE(p.messages.empty());
  }
}

TEST(PredictionTest, GradientsHideBehindBackwardOfLayersBelow) {
  Parallelism how;
  how.fully_connected = FullyConnected::data;
  how.sum = [](int, i64 values) { return 1e-3 * static_cast<double>(values); };
  const Prediction p = predict(small(), {}, {}, how, 2);
  // Backward ends after 7 s. fc2 is sent from 2 to 6, fc1 to 9, conv2 to 11, conv1 to 12.
  ASSERT_EQ(p.messages.size(), 4U);
  EXPECT_EQ(p.messages[0].name, "fc2");
  EXPECT_DOUBLE_EQ(p.messages[0].exposed, 0);
  EXPECT_DOUBLE_EQ(p.messages[1].exposed, 2);
  EXPECT_DOUBLE_EQ(p.messages[3].exposed, 1);
  EXPECT_DOUBLE_EQ(p.exposed_gradients, 5);
  EXPECT_DOUBLE_EQ(p.speedup, 2 * 12.0 / 17);
  how.hidden_behind = HiddenBehind::nothing;
  EXPECT_DOUBLE_EQ(predict(small(), {}, {}, how, 2).exposed_gradients, 10);
}

TEST(PredictionTest, GradientsHideBehindTheNextForward) {
  Parallelism how;
  how.fully_connected = FullyConnected::data;
  how.hidden_behind = HiddenBehind::next_forward;
  how.sum = [](int, i64 values) { return 1e-3 * static_cast<double>(values); };
  const Prediction p = predict(small(), {}, {}, how, 2);
  // fc2 is sent from 2 to 4 and from 10 to 12, fc1 from 4 to 6 and 9 to 10, conv2 from 6 to 7 and 8 to 9, conv1 from 7
  // to 8. Forward begins at 7, waits for conv1 and, at 11, for fc2.
  ASSERT_EQ(p.messages.size(), 4U);
  EXPECT_DOUBLE_EQ(p.messages[0].exposed, 1);
  EXPECT_DOUBLE_EQ(p.messages[1].exposed, 0);
  EXPECT_DOUBLE_EQ(p.messages[2].exposed, 0);
  EXPECT_DOUBLE_EQ(p.messages[3].exposed, 1);
  EXPECT_DOUBLE_EQ(p.exposed_gradients, 2);
}

TEST(PredictionTest, DividedLayersTakeTheirPartOfEveryPass) {
  Parallelism how;
  how.divided_efficiency = 0.5;
  const Prediction p = predict(small(), node_of(4, 1e30), {}, how, 4);
  EXPECT_EQ(p.passes, 4);
  EXPECT_DOUBLE_EQ(p.data_parallel, 6);
  EXPECT_DOUBLE_EQ(p.fully_connected, 4 * 6 / (4 * 0.5));
  EXPECT_NEAR(p.exposed_activations, 0, 1e-12);
  how.sub_batch = 16;
  EXPECT_EQ(predict(small(), node_of(4, 1e30), {}, how, 4).passes, 2);
  EXPECT_DOUBLE_EQ(predict(small(), node_of(4, 1e30), {}, how, 4).fully_connected, 12) << "passes twice as long";
  how.sub_batch = 33;
  EXPECT_THROW(predict(small(), node_of(4, 1), {}, how, 4), ConfigError);
}

TEST(PredictionTest, EveryPassPaysForItsRemaindersUnlessOneIsCounted) {
  // A message of v values a sample takes 8 v 4 / 2 / 16 s = v s; a pass's layers half a second a part.
  Links links = node_of(2, 16);
  Work work = small();
  work.layers[0].parameters = work.layers[1].parameters = 0;
  Parallelism how;
  const double inputs = 30 - 0.5 + 40 - 0.5, errors = 5 - 0.5 + 40 - 1;
  EXPECT_DOUBLE_EQ(predict(work, links, {}, how, 2).exposed_activations, 2 * (inputs + errors) + 2 * 30 - 29.5);
  how.count_one_pass = true;
  EXPECT_DOUBLE_EQ(predict(work, links, {}, how, 2).exposed_activations, inputs + errors + 3 * 30);
}

TEST(PredictionTest, WholeLayersTakeEverybodysActivations) {
  Links links = node_of(2, 16);
  Work work = small();
  work.layers[0].parameters = work.layers[1].parameters = 0;
  Parallelism how;
  how.fully_connected = FullyConnected::whole;
  const Prediction p = predict(work, links, {}, how, 2);
  EXPECT_DOUBLE_EQ(p.fully_connected, 2 * 6);
  EXPECT_DOUBLE_EQ(p.exposed_activations, 30 + (30 - 1));
}

TEST(PredictionTest, ANetWithoutFullyConnectedLayersIsParallelOverData) {
  Work work = small();
  work.layers.resize(2);
  work.iteration = 6;
  Parallelism model, data;
  data.fully_connected = FullyConnected::data;
  const Prediction a = predict(work, node_of(4, 1e3), {}, model, 4), b = predict(work, node_of(4, 1e3), {}, data, 4);
  EXPECT_EQ(a.passes, 1);
  EXPECT_DOUBLE_EQ(a.iteration, b.iteration);
  EXPECT_GT(a.exposed_gradients, 0);
}

TEST(PredictionTest, ACodecCountsWithItsOwnSizeAndTime) {
  const Codec& codec = find_codec("dynamic_tree8");
  const Coding coding{&codec, 1e-9, 0.5e-9};
  const i64 n = 1 << 20;
  const Links links = node_of(4, 1e9);
  EXPECT_DOUBLE_EQ(coding.bytes(n), static_cast<double>(codec.encoded_bytes(n)));
  EXPECT_LT(links.to_all(4, coding.bytes(n)), 0.26 * links.to_all(4, 4 * n));
  EXPECT_NEAR(sum_seconds(links, coding, 4, n), 2 * links.to_all(4, coding.bytes(n)) + n * (1.25e-9 + 1e-9), 1e-12);
  EXPECT_NEAR(gather_seconds(links, coding, 4, n), links.to_all(4, coding.bytes(n)) + n * (0.25e-9 + 0.375e-9), 1e-12);
}

/// Tables 3 and 4, section 5.1.3, as the predictor sees them from layers' shapes and links alone: nothing of what is
/// printed of messages. The paper's fully connected layers are 0.49 as fast as they would be divided evenly.
TEST(PredictionTest, FourDevicesComeOutOfShapesAndLinks) {
  const auto ms = [](double forward, double backward, double update) {
    return std::vector<double>{1e-3 * forward, 1e-3 * backward, 1e-3 * update};
  };
  const Work alexnet{
      128,
      {layer("conv1", false, 23232, 0, 0, ms(4, 1, 3.5)), layer("conv2", false, 307200, 0, 0, ms(10, 11, 11)),
       layer("conv3", false, 663552, 0, 0, ms(5, 6, 5)), layer("conv4", false, 884736, 0, 0, ms(6.5, 5.5, 6.5)),
       layer("conv5", false, 589824, 0, 0, ms(4, 4, 5)), layer("fc6", true, 9216 * 3072, 9216, 3072, ms(1.3, 1.3, 1.5)),
       layer("fc7", true, 3072 * 3072, 3072, 3072, ms(0.45, 0.45, 0.5)),
       layer("fc8", true, 3072 * 1000, 3072, 1000, ms(0.4, 0.4, 0.2))},
      104.1e-3};
  Links links = node_of(4, 5.25e9);
  links.switch_messages = 1;
  Parallelism how;
  how.count_one_pass = true;
  how.divided_efficiency = 6.5 / 4 / 3.34;
  const Prediction p = predict(alexnet, links, {}, how, 4);
  EXPECT_NEAR(1e3 * p.exposed_gradients, 0.05, 0.02) << "only the first layer's gradients have nothing to hide behind";
  EXPECT_NEAR(1e3 * p.fully_connected, 4 * 3.34, 1e-9);
  // The paper prints all outputs where a quarter is sent, so its penalty is larger.
  EXPECT_NEAR(p.speedup, 3.53, 0.08);
  how.count_one_pass = false;
  EXPECT_NEAR(predict(alexnet, links, {}, how, 4).speedup, 3.53, 0.15);
}

TEST(DivisionTest, SubBatchesHideMessagesBehindProducts) {
  EXPECT_DOUBLE_EQ(exposed_in(1, 2, 10, 3, 0), 2 + 3) << "nothing to hide behind";
  EXPECT_DOUBLE_EQ(exposed_in(1, 2, 10, 3, 4), 2) << "what goes back does so behind what comes after";
  EXPECT_DOUBLE_EQ(exposed_in(4, 2, 10, 3, 0), 2 + 3) << "all but the first and the last";
  // A link that is busy all the time: two sub-batches come, one goes, one goes.
  EXPECT_DOUBLE_EQ(exposed_in(2, 5, 1, 5, 0), 4 * 5 - 2);
}

TEST(DivisionTest, TheCheaperMessagesDecide) {
  // Gradients of 1000 x 10 weights take long; an input is a hundred outputs.
  const Work work{8, {layer("conv", false, 10, 10, 1000, {1, 1, 1}), layer("fc", true, 10010, 1000, 10, {1, 1, 1})}, 6};
  const auto of = [&](double bandwidth, int devices) {
    Parallelism how;
    return predict_divisions(work, node_of(64, bandwidth), {}, how, devices).at(0);
  };
  const DividedLayer fc = of(1000, 2);
  EXPECT_EQ(fc.choice(), DividedLayer::Choice::inputs);
  EXPECT_GT(fc.outputs.iteration, fc.inputs.iteration);
  // 8 rows of 10 outputs of two devices, and columns of 8 x 1000 inputs, both there and back; the iteration without.
  EXPECT_LE(fc.inputs.iteration, 6 + 2 * (4 * 8 * 10 + 4 * 8 * 500) / 1000.0 + 4 * 10 / 1000.0 + 1e-9);
  EXPECT_GE(fc.inputs.iteration, 6);
  EXPECT_EQ(of(1000, 16).outputs.iteration, 0) << "16 devices cannot divide 10 outputs";
  EXPECT_TRUE(predict_divisions(work, node_of(4, 1), {}, {}, 1).empty());
}

TEST(DivisionTest, FewParametersStayWhole) {
  const Work work{512, {layer("fc1", true, 110, 10, 10, {1, 1, 1}), layer("fc2", true, 110, 10, 10, {1, 1, 1})}, 6};
  for (const auto& one : predict_divisions(work, node_of(4, 1000), {}, {}, 4))
    EXPECT_EQ(one.choice(), DividedLayer::Choice::undivided) << one.name;
}

TEST(PublishedPredictionTest, EveryValueFollowsOrSaysWhyNot) {
  const auto all = published_predictions();
  EXPECT_EQ(all.size(), 136U);
  for (const auto& entry : all) {
    const std::string where = "table " + entry.table + ", " + entry.entry;
    if (entry.note.empty()) {
      EXPECT_NEAR(entry.ratio(), 1, 0.03) << where;
    } else {
      EXPECT_GT(std::abs(entry.ratio() - 1), 0.025) << where << " follows, but has a note";
    }
    EXPECT_EQ(entry.follows(), entry.note.empty()) << where;
    if (entry.table == "1" || entry.table == "7" || entry.entry.find("devices") != std::string::npos) {
      EXPECT_NEAR(entry.ratio(), 1, 0.025) << entry.entry;
    }
    if (entry.entry.find("full pass") != std::string::npos) { EXPECT_NEAR(entry.ratio(), 1, 0.003) << entry.entry; }
  }
}

TEST(PublishedPredictionTest, SpeedUpsAreThePapers) {
  const auto find = [](const std::string& table, const std::string& entry) {
    for (const auto& one : published_predictions())
      if (one.table == table && one.entry == entry) return one.ours;
    return 0.0;
  };
  EXPECT_NEAR(find("1", "4 devices"), 3.53, 0.005);
  EXPECT_NEAR(find("1", "4 devices, 8 bits"), 3.67, 0.005);
  EXPECT_NEAR(find("7", "96 devices, 512"), 23, 0.05);
  EXPECT_NEAR(find("7", "96 devices, 2048, 8 bits"), 50.6, 0.05);
  EXPECT_NEAR(find("7", "96 devices, 128, convnet2"), 20.7, 0.05);
  EXPECT_NEAR(find("4", "fc penalty: ms"), 7.01, 1e-9);
  EXPECT_NEAR(find("4", "fc penalty: ms, 8 bits"), 2.55, 1e-9);
}

class MachineFileTest : public ::testing::Test {
 protected:
  ~MachineFileTest() override { std::remove(file_.c_str()); }
  PredictionMachine read(const std::string& text) {
    std::ofstream(file_) << text;
    return read_prediction_machine(file_);
  }
  /// The message, which names the file.
  std::string mistake(const std::string& text) {
    try {
      read(text);
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find(file_), std::string::npos) << error.what();
      return error.what();
    }
    return "";
  }
  const std::string file_ = ::testing::TempDir() + "prediction_machine.json";
};

TEST_F(MachineFileTest, IsReadWithItsUnits) {
  const PredictionMachine m = read(R"({"devices_per_node": 4, "switch_messages": 1, "encode_ns": 2,
    "inside": {"gbytes_per_s": 5}, "across": {"gbytes_per_s": 6, "latency_us": [[1000, 1], [2000, 3]]},
    "compute": {"batch": 16, "layers": {"a": {"forward_ms": 1, "backward_ms": 2, "update_ms": 3}}}})");
  EXPECT_EQ(m.links.nodes(9), 3);
  EXPECT_DOUBLE_EQ(m.links.inside.bandwidth, 5e9);
  EXPECT_NEAR(m.links.across.seconds(1500), 2e-6 + 1500 / 6e9, 1e-15);
  EXPECT_DOUBLE_EQ(m.encode, 2e-9);
  EXPECT_NEAR(m.compute->iteration, 6e-3, 1e-12);

  Work work{8, {layer("a", true, 5, 1, 1, {0, 0, 0}), layer("relu", false, 0, 1, 1, {0, 0, 0})}, 0};
  take_times(file_, *m.compute, work);
  EXPECT_EQ(work.batch, 16);
  EXPECT_DOUBLE_EQ(work.layers[0].update, 3e-3);
  work.layers[0].name = "b";
  EXPECT_THROW(take_times(file_, *m.compute, work), ConfigError);
  work.layers[0].parameters = 0;
  EXPECT_THROW(take_times(file_, *m.compute, work), ConfigError) << "layer 'a' is not in the net";
}

TEST_F(MachineFileTest, MistakesNameTheLine) {
  const auto starts = [&](const std::string& text, const std::string& with) {
    EXPECT_EQ(mistake(text).find(file_ + with), 0U) << mistake(text);
  };
  starts("{\"devices_per_node\": 2,\n\"inside\": {\n  \"gbytes_per_s\": 3, \"latancy_us\":\n 4}}",
         ":3, field 'inside.latancy_us': is not known (there are: gbytes_per_s, latency_us)");
  starts("{\n\"devices_per_node\":\n1.5}", ":2, field 'devices_per_node': is no whole number");
  starts("{\"devices_per_node\": 2,\n\n\"inside\": {}}", ":3, field 'inside.gbytes_per_s': is missing");
  starts("{\"name\": \"a\",\n\"name\": \"b\"}", ":2, field 'name': stands in line 1 too");
  starts("{\"name\": \"a\",\n\n\"devices_per_node\": }", ": is no JSON: ");
  EXPECT_NE(mistake("{\"name\": \"a\",\n\n\"devices_per_node\": }").find("line 3"), std::string::npos);
}

TEST_F(MachineFileTest, MistakesNameTheField) {
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(mistake("{"), "is no JSON"));
  EXPECT_TRUE(has(mistake("[]"), "is no object"));
  EXPECT_TRUE(has(mistake("{}"), "field 'devices_per_node': is missing"));
  EXPECT_TRUE(has(mistake(R"({"devices_per_node": 2})"), "field 'inside': is missing"));
  EXPECT_TRUE(has(mistake(R"({"devices_per_node": 1.5})"), "is no whole number"));
  EXPECT_TRUE(has(mistake(R"({"devices_per_node": 1, "swich": 1})"), "field 'swich': is not known"));
  EXPECT_TRUE(has(mistake(R"({"devices_per_node": 2, "inside": {"gbytes_per_s": 0}})"),
                  "field 'inside.gbytes_per_s': is not above 0"));
  EXPECT_TRUE(has(mistake(R"({"devices_per_node": 2, "inside": {"gbytes_per_s": "5"}})"), "is no number"));
  EXPECT_TRUE(has(mistake(R"({"devices_per_node": 1, "across": {"gbytes_per_s": 5, "latency_us": [[2, 1], [1, 1]]}})"),
                  "field 'across.latency_us': has points whose bytes do not grow"));
  EXPECT_TRUE(has(mistake(R"({"devices_per_node": 1, "compute": {"batch": 1, "layers": {"a": {"forward_ms": -1}}}})"),
                  "field 'compute.layers.a.forward_ms': is below 0"));
  EXPECT_TRUE(has(mistake(R"({"devices_per_node": 1, "compute": {"batch": 1, "iteration_ms": 1,
                             "layers": {"a": {"forward_ms": 1, "backward_ms": 1}}}})"),
                  "field 'compute.iteration_ms': is less than its layers"));
}

}  // namespace
}  // namespace cortado::test::prediction_test
