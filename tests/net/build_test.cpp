#include <limits>

#include "core/solver/finite.h"
#include "tests/net/small_net.h"
#include "tests/support/message_of.h"

namespace cortado::test::build_test {
namespace {
/// What building the net complains about; empty if nothing.
std::string complaint(const std::string& text, const PlanBook& plans = {}) {
  return message_of([&] { small_net(net_parameter(text), plans); });
}

void expect_says(const std::string& text, const std::vector<std::string>& pieces) {
  const std::string said = complaint(text);
  for (const auto& piece : pieces) EXPECT_NE(said.find(piece), std::string::npos) << "'" << said << "' lacks " << piece;
}

TEST(NetMistakes, NameTheLayer) {
  expect_says("layer { name: 'l' type: 'Convoluton' }", {"layer 'l'", "'Convoluton'", "known types", "Loss, Scale"});
  expect_says("layer { name: 'p' type: 'Python' python_param { module: 'm' layer: 'L' } }",
              {"layer 'p'", "the command line has no Python", "docs/use/python.md"});
  expect_says("layer { name: 'l' }", {"layer 'l'", "has no type"});
  std::string many;
  int number = 0;
  for (const char* const type : {"ChannelwiseScale", "NoSuch", "ChannelwiseScale", "ChannelwiseScale", "ROIPooling",
                                 "ChannelwiseScale", "ChannelwiseScale", "ChannelwiseScale"})
    many += "layer { name: 'l" + std::to_string(number++) + "' type: '" + type + "' }";
  expect_says(
      many, {"layers 'l0', 'l2', 'l3', 'l5' and 2 more: layer type 'ChannelwiseScale' is not known (write Reshape",
             "\nlayer 'l1': layer type 'NoSuch' is not known\n", "\nlayer 'l4': layer type 'ROIPooling'", "HDF5Output",
             "\nknown types: "});
  expect_says(scale_layer("s", "data", "y"), {"layer 's'", "bottom 'data' (index 0)"});
  expect_says(data_layer() + scale_layer("a", "data", "y") + scale_layer("b", "data", "y"),
              {"layer 'b'", "top 'y'", "layer 'a'"});
  expect_says(data_layer() + "layer { name: 's' type: 'Scale' bottom: 'data' }", {"layer 's'", "0 tops, takes 1"});
  expect_says(data_layer() + "layer { name: 's' type: 'Loss' bottom: 'data' bottom: 'data' bottom: 'data' top: 'l' }",
              {"layer 's'", "3 bottoms, takes 1 to 2"});
  expect_says(data_layer() + "layer { name: 's' type: 'Split' bottom: 'data' }", {"0 tops, takes at least 1"});
  expect_says(data_layer() + "layer { name: 'c' type: 'Copy' bottom: 'data' top: 'data' }",
              {"layer 'c'", "cannot run in place", "'data'"});
  expect_says(data_layer() + scale_layer("s", "data", "y", "param {} param {}"),
              {"layer 's'", "2 param", "1 parameter"});
  expect_says(data_layer() + scale_layer("s", "data", "y") + scale_layer("s", "y", "z"), {"layer 's'", "two layers"});
  expect_says(data_layer() + loss_layer("data", "propagate_down: true propagate_down: false"),
              {"layer 'loss'", "2 propagate_down for 1 bottoms"});
  expect_says(data_layer() + loss_layer("data", "loss_weight: 1 loss_weight: 1"), {"layer 'loss'", "2 loss_weight"});
  expect_says(data_layer() + scale_layer("s", "data", "y", "include {} exclude {}"),
              {"layer 's'", "include and exclude"});
  expect_says(data_layer() +
                  "layer { name: 's' type: 'Scale' bottom: 'data' top: 'y' inner_product_param { "
                  "num_output: 1 weight_filler { type: 'xavir' } } }",
              {"layer 's'", "blob 0", "'xavir'", "xavier"});
}

TEST(NetMistakes, ALabelFromLayersThatLearnHasNoGradient) {
  const std::string net = data_layer() + scale_layer("s", "data", "y") + scale_layer("t", "data", "label") +
                          "layer { name: 'loss' type: 'Loss' bottom: 'y' bottom: 'label' top: 'loss' ";
  expect_says(net + "}", {"layer 'loss'", "'label'", "propagate_down"});
  EXPECT_EQ(complaint(net + "propagate_down: true propagate_down: false }"), "");
}

TEST(NetMistakes, AFailingPlanNamesItsLayer) {
  const std::string net = data_layer() + "layer { name: 'c' type: 'Choice' bottom: 'data' top: 'y' }";
  EXPECT_EQ(complaint(net, {{"c/forward", "impossible"}}), "layer 'c': it does not fit");
}

TEST(NetBuild, WiresLayersAndFindsOutputsByName) {
  const auto net = small_net("name: 'n' " + data_layer() + scale_layer("z", "data", "z") +
                             scale_layer("b", "data", "b") + scale_layer("in_place", "b", "b"));
  EXPECT_EQ(net->name(), "n");
  ASSERT_EQ(net->layers().size(), 5u);  // with the split of data
  EXPECT_EQ(net->layers()[1].type, "Split");
  EXPECT_EQ(net->blob_names(), (std::vector<std::string>{"data", "data_in_0_split_0", "data_in_0_split_1", "z", "b"}));
  ASSERT_EQ(net->outputs().size(), 2u);
  EXPECT_EQ(net->outputs()[0].name, "b");
  EXPECT_EQ(net->outputs()[1].name, "z");
  ASSERT_EQ(net->inputs().size(), 1u);
  EXPECT_EQ(net->inputs()[0], net->blob("data"));
  EXPECT_EQ(net->layers()[4].top[0], net->layers()[4].bottom[0]);
  EXPECT_EQ(net->layer("z"), net->layers()[2].layer.get());
  EXPECT_EQ(net->layer("none"), nullptr);
  EXPECT_EQ(net->blob("none"), nullptr);
}

TEST(NetBuild, LossesNeedNotNameTheirTop) {
  const auto net = small_net(data_layer() + scale_layer("s", "data", "y", "", 2) +
                             "layer { name: 'one' type: 'Loss' bottom: 'y' } "
                             "layer { name: 'two' type: 'Loss' bottom: 'y' loss_weight: 3 }");
  std::vector<float> values(static_cast<std::size_t>(net->blob("data")->count()), 1.0f);
  net->blob("data")->write_data(values.data());
  net->forward();
  EXPECT_EQ(net->loss(), 4 * 2 * static_cast<double>(values.size()));
  ASSERT_EQ(net->outputs().size(), 2u);
  EXPECT_EQ(net->outputs()[1].name, "two (automatic)");
  EXPECT_EQ(net->layer("two")->parameter().top_size(), 0);  // weight files say what the net's text says
  net->backward();
  EXPECT_EQ(net->blob("y")->diff_vector()[0], 4);
}

TEST(NetBuild, ForwardRunsInPlaceLayersAndSplits) {
  const auto net = small_net(data_layer() + scale_layer("a", "data", "x", "", 2) + scale_layer("b", "x", "x", "", 3) +
                             scale_layer("c", "x", "y", "", 5) + loss_layer("x"));
  net->blob("data")->write_data(std::vector<float>{1, 2, 3, 4, 5, 6}.data());
  net->forward();
  EXPECT_EQ(net->blob("x")->data_vector(), (std::vector<float>{6, 12, 18, 24, 30, 36}));
  EXPECT_EQ(net->blob("y")->data_vector(), (std::vector<float>{30, 60, 90, 120, 150, 180}));
  EXPECT_EQ(net->loss(), 126);
}

TEST(NetBuild, LegacyInputsAndPhasesAreRead) {
  const auto net = small_net(net_parameter("input: 'data' input_dim: 1 input_dim: 1 input_dim: 2 input_dim: 2 " +
                                               scale_layer("a", "data", "y", "include { phase: TRAIN }") +
                                               scale_layer("b", "data", "y", "include { phase: TEST }"),
                                           caffe::TEST));
  EXPECT_EQ(net->blob("data")->shape(), (Shape{1, 1, 2, 2}));
  EXPECT_EQ(net->layer("a"), nullptr);
  EXPECT_NE(net->layer("b"), nullptr);
  EXPECT_EQ(net->run().phase, Phase::test);
}

TEST(NetBuild, PlansAreAskedForAndReported) {
  const std::string text = data_layer() +
                           "layer { name: 'block/a' type: 'Choice' bottom: 'data' top: 'y' } "
                           "layer { name: 'b' type: 'Choice' bottom: 'y' top: 'z' }";
  const auto net = small_net(net_parameter(text), {{"block/a/forward", "fast"}, {"other/forward", "x"}});
  EXPECT_EQ(net->plans(), (PlanBook{{"block/a/forward", "fast"}, {"b/forward", "plain"}}));
}

TEST(NetBuild, ReshapeFollowsTheInputs) {
  const auto net = small_net(data_layer() + scale_layer("a", "data", "y") + loss_layer("y", "loss_weight: 0.5"));
  net->blob("data")->reshape({4, 3});
  net->blob("loss")->zero_diff();
  net->reshape();
  EXPECT_EQ(net->blob("y")->shape(), (Shape{4, 3}));
  EXPECT_EQ(net->blob("loss")->diff_vector(), std::vector<float>{0.5f});
}

TEST(NetBuild, MemoryIsSummedWithoutRunning) {
  const auto net =
      small_net(data_layer() + scale_layer("a", "data", "y", "", 1, 7) + scale_layer("b", "y", "y") + loss_layer("y"));
  const auto memory = net->memory();
  EXPECT_EQ(memory.activations, 4 * (6 + 6 + 1));
  EXPECT_EQ(memory.activation_gradients, 4 * (6 + 1));
  EXPECT_EQ(memory.parameters, 4 * (7 + 1));
  EXPECT_EQ(memory.parameter_gradients, 4 * (7 + 1));
  EXPECT_FALSE(net->blob("y")->has_diff());
}

TEST(NetBuild, FirstNotFiniteIsTheFirstInForwardOrder) {
  const auto net =
      small_net(data_layer() + scale_layer("a", "data", "x") + scale_layer("b", "x", "y") + loss_layer("y"));
  net->blob("data")->write_data(std::vector<float>(6, 1).data());
  net->forward();
  EXPECT_EQ(net->first_not_finite(), "");
  const float infinite = std::numeric_limits<float>::infinity();
  net->layer("b")->blobs()[0]->write_data(&infinite);
  net->forward();
  EXPECT_EQ(net->first_not_finite(), "b");
  std::vector<float> data(6, 1);
  data[3] = std::numeric_limits<float>::quiet_NaN();
  net->blob("data")->write_data(data.data());
  EXPECT_EQ(net->first_not_finite(), "in");
}

TEST(NetBuild, LayersInPlaceShareTheBlame) {
  const auto net = small_net(data_layer() + scale_layer("a", "data", "x") + scale_layer("b", "x", "x") +
                             scale_layer("c", "x", "y") + loss_layer("y"));
  net->blob("data")->write_data(std::vector<float>(6, 1).data());
  const float large = 1e30F;
  for (const char* name : {"a", "b"}) net->layer(name)->blobs()[0]->write_data(&large);
  net->forward();
  EXPECT_EQ(makers_of(*net, net->first_not_finite()), "layer 'a' or 'b'");
  EXPECT_EQ(makers_of(*net, "c"), "layer 'c'");
}

}  // namespace
}  // namespace cortado::test::build_test
