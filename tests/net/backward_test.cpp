#include "tests/net/small_net.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::backward_test {
namespace {
/// Names of the layers that run backward, in forward order.
std::string running(const Net& net) {
  std::string names;
  for (const auto& entry : net.layers())
    if (entry.need_backward) names += entry.layer->name() + " ";
  return names;
}

bool propagates(const Net& net, const std::string& layer, std::size_t i) {
  for (const auto& entry : net.layers())
    if (entry.layer->name() == layer) return entry.propagate_down[i];
  return false;
}

const std::string frozen = "param { lr_mult: 0 }";

TEST(NetBackward, RunsFromTheLossDownToTheFirstLayerThatLearns) {
  const auto net = small_net(data_layer() + scale_layer("a", "data", "x", frozen) + scale_layer("b", "x", "y") +
                             scale_layer("c", "y", "z", frozen) + loss_layer("z"));
  EXPECT_EQ(running(*net), "b c loss ");
  EXPECT_FALSE(propagates(*net, "b", 0));
  EXPECT_TRUE(propagates(*net, "c", 0));
  EXPECT_FALSE(net->layer("c")->param_propagate_down(0));
}

TEST(NetBackward, LeavesOutWhatDoesNotReachALoss) {
  const auto net =
      small_net(data_layer() + scale_layer("a", "data", "x") + loss_layer("x") + scale_layer("b", "x", "y"));
  EXPECT_EQ(running(*net), "a x_a_0_split loss ");
  EXPECT_EQ(running(*small_net(data_layer() + scale_layer("a", "data", "x"))), "");
}

TEST(NetBackward, LossWeightZeroIsNoLoss) {
  EXPECT_EQ(running(*small_net(data_layer() + scale_layer("a", "data", "x") + loss_layer("x", "loss_weight: 0"))), "");
}

TEST(NetBackward, PropagateDownFalseCutsTheGraph) {
  const auto net = small_net(data_layer() + scale_layer("a", "data", "x") +
                             scale_layer("b", "x", "y", "propagate_down: false") + loss_layer("y"));
  EXPECT_EQ(running(*net), "b loss ");
  EXPECT_FALSE(propagates(*net, "b", 0));
}

std::string like_layer(const std::string& name, const std::string& bottom, const std::string& shape,
                       const std::string& more = "") {
  return "layer { name: '" + name + "' type: 'Like' bottom: '" + bottom + "' bottom: '" + shape + "' top: '" + name +
         "' " + more + "} ";
}

std::vector<float> gradients_after_a_pass(Net& net, const std::vector<const char*>& layers) {
  net.blob("data")->write_data(std::vector<float>{1, 2, 3, 4, 5, 6}.data());
  for (int pass = 0; pass < 2; ++pass) {  // gradients of the first, wherever they lie, must not reach the second's
    net.forward();
    net.clear_gradients();
    net.backward();
  }
  std::vector<float> all;
  for (const char* layer : layers) all.push_back(net.layer(layer)->blobs()[0]->diff_vector()[0]);
  return all;
}

TEST(NetBackward, AShapeNeedsNoGradient) {
  // loss = sum(a x) + sum(b x): b's top gives its shape as well.
  const std::string layers = data_layer() + scale_layer("a", "data", "x", "", 2) + scale_layer("b", "data", "y", "", 3);
  const std::string losses = loss_layer("like") + "layer { name: 'other' type: 'Loss' bottom: 'y' top: 'other' }";
  for (const char* more :
       {"", "propagate_down: true propagate_down: true", "propagate_down: true propagate_down: false"})
    for (const bool only_trains : {false, true}) {
      const auto net =
          small_net(net_parameter(layers + like_layer("like", "x", "y", more) + losses), {}, nullptr, only_trains);
      EXPECT_EQ(running(*net), "a b y_b_0_split like loss other ");
      EXPECT_FALSE(propagates(*net, "like", 1));
      EXPECT_EQ(gradients_after_a_pass(*net, {"a", "b"}), (std::vector<float>{21, 21}));
    }
}

TEST(NetBackward, WhatGivesItsShapeAloneLearnsNothing) {
  const auto net = small_net(data_layer() + scale_layer("a", "data", "x", "", 2) + scale_layer("b", "data", "y") +
                             like_layer("like", "x", "y") + loss_layer("like"));
  EXPECT_EQ(running(*net), "a like loss ");
  EXPECT_EQ(gradients_after_a_pass(*net, {"a", "b"}), (std::vector<float>{21, 0}));
}

TEST(NetBackward, ALabelMayHaveTheShapeOfWhatLearns) {
  const std::string label = "layer { name: 'l' type: 'Input' top: 'label' input_param { shape { dim: 2 dim: 3 } } } ";
  const auto net = small_net(data_layer() + label + scale_layer("a", "data", "x") + like_layer("cut", "label", "x") +
                             "layer { name: 'loss' type: 'Loss' bottom: 'x' bottom: 'cut' top: 'loss' }");
  EXPECT_EQ(running(*net), "a x_a_0_split loss ");
  EXPECT_EQ(gradients_after_a_pass(*net, {"a"}), std::vector<float>{21});
}

TEST(NetBackward, ForceBackwardGivesShapesNoGradient) {
  const auto net =
      small_net("force_backward: true " + data_layer() + scale_layer("a", "data", "x") + scale_layer("b", "data", "y") +
                like_layer("like", "x", "y") + like_layer("more", "like", "y") + loss_layer("more"));
  EXPECT_EQ(gradients_after_a_pass(*net, {"a", "b"}), (std::vector<float>{21, 0}));
  EXPECT_EQ(net->blob("y")->diff_vector(), std::vector<float>(6, 0.0f));
  EXPECT_EQ(net->blob("data")->diff_vector(), std::vector<float>(6, 2.0f));
}

TEST(NetBackward, ForceBackwardReachesTheInputs) {
  const auto net =
      small_net("force_backward: true " + data_layer() + scale_layer("a", "data", "x", frozen, 3) +
                "layer { name: 'loss' type: 'Loss' bottom: 'x' bottom: 'data' top: 'loss' loss_weight: 2 }");
  EXPECT_TRUE(propagates(*net, "a", 0));
  EXPECT_FALSE(propagates(*net, "loss", 1));
  EXPECT_TRUE(net->layer("a")->param_propagate_down(0));
}

TEST(NetBackward, CallsBeforeAndAfterEachLayer) {
  const auto net =
      small_net(data_layer() + scale_layer("a", "data", "x", frozen) + scale_layer("b", "x", "y") + loss_layer("y"));
  std::string called;
  const auto note = [&](const char* moment) {
    return [&called, &net, moment](std::size_t i) { called += moment + net->layers()[i].layer->name() + " "; };
  };
  net->set_callbacks({note("<"), note(">"), note("["), [&](std::size_t i) {
                        called += "]" + net->layers()[i].layer->name() + " ";
                        if (i == 2) net->layer("b")->blobs()[0]->write_diff(std::vector<float>{7}.data());
                      }});
  net->blob("data")->write_data(std::vector<float>{1, 2, 3, 4, 5, 6}.data());
  net->clear_gradients();
  net->forward(0, 3);
  EXPECT_EQ(called, "<in >in <a >a <b >b ");
  called.clear();
  net->forward(3, 4);
  EXPECT_EQ(called, "<loss >loss ");
  called.clear();
  float finished_with = 0;  // what a callback writes is there where gradients are handed on
  net->backward(0, 4, [&](std::size_t i) {
    called += "|";
    if (i == 2) finished_with = net->layer("b")->blobs()[0]->diff_vector()[0];
  });
  EXPECT_EQ(called, "[loss ]loss |[b ]b |[a ]a |[in ]in |");
  EXPECT_EQ(finished_with, 7);
  called.clear();
  net->set_callbacks({});
  net->forward();
  net->backward();
  EXPECT_EQ(called, "");
}

TEST(NetBackward, GradientsFollowTheChainRule) {
  // loss = sum(c (a x)) + 0.5 sum(b (a x)), a = 2, b = 3, c = 5.
  const auto net = small_net("force_backward: true " + data_layer() + scale_layer("a", "data", "x", "", 2) +
                             scale_layer("b", "x", "y", "", 3) + scale_layer("c", "x", "z", "", 5) + loss_layer("z") +
                             "layer { name: 'half' type: 'Loss' bottom: 'y' top: 'half' loss_weight: 0.5 }");
  net->blob("data")->write_data(std::vector<float>{1, 2, 3, 4, 5, 6}.data());
  net->clear_gradients();
  net->forward();
  net->backward();
  EXPECT_EQ(net->loss(), 21 * 2 * 5 + 0.5 * 21 * 2 * 3);
  const auto gradient = [&](const char* name) { return net->layer(name)->blobs()[0]->diff_vector()[0]; };
  EXPECT_FLOAT_EQ(gradient("a"), 21 * (5 + 0.5f * 3));
  EXPECT_FLOAT_EQ(gradient("b"), 0.5f * 21 * 2);
  EXPECT_FLOAT_EQ(gradient("c"), 21 * 2);
  EXPECT_EQ(net->blob("data")->diff_vector(), std::vector<float>(6, 2 * (5 + 0.5f * 3)));
  net->backward();  // gradients add up until they are cleared
  EXPECT_FLOAT_EQ(gradient("c"), 2 * 21 * 2);
  net->clear_gradients();
  EXPECT_EQ(gradient("c"), 0);
}

TEST(NetBackward, TheCallersGradientReplacesTheLossWeight) {
  const auto net = small_net(data_layer() + scale_layer("a", "data", "x", "", 2) + loss_layer("x", "loss_weight: 0.3"));
  net->blob("data")->write_data(std::vector<float>(6, 1).data());
  const float given = 7;
  net->blob("loss")->write_diff(&given);
  net->forward();
  net->backward();
  EXPECT_EQ(net->layer("a")->blobs()[0]->diff_vector()[0], 42);
}

TEST(NetBackward, TellsWhenEachLayerIsFinishedLastFirst) {
  const auto net =
      small_net(data_layer() + scale_layer("a", "data", "x") + scale_layer("b", "x", "y") + loss_layer("y"));
  net->forward();
  std::vector<std::size_t> order;
  net->backward(0, net->layers().size(), [&](std::size_t i) { order.push_back(i); });
  EXPECT_EQ(order, (std::vector<std::size_t>{3, 2, 1, 0}));
}

TEST(NetBackward, PartsOfTheNetRunAlone) {
  const auto net =
      small_net(data_layer() + scale_layer("a", "data", "x") + scale_layer("b", "x", "y") + loss_layer("y"));
  net->blob("data")->write_data(std::vector<float>(6, 1).data());
  net->forward(0, 2);
  net->blob("x")->write_data(std::vector<float>(6, 5).data());
  net->forward(2, 4);
  EXPECT_EQ(net->loss(), 60);
  net->backward(2, 4);
  EXPECT_EQ(dynamic_cast<SmallScale&>(*net->layer("b")).backward_calls, 1);
  EXPECT_EQ(dynamic_cast<SmallScale&>(*net->layer("a")).backward_calls, 0);
}

// A chain with a branch and an in-place layer: the same parameter gradients, in less memory, also after another shape.
TEST(NetBackward, SharedGradientsAreTheSameInLessMemory) {
  const auto parameter = net_parameter(
      data_layer() + scale_layer("a", "data", "x", "", 2) + scale_layer("b", "x", "y", "", 3) +
      scale_layer("c", "y", "z", "", 5) + scale_layer("d", "x", "v", "", 7) + scale_layer("e", "v", "u", "", 11) +
      loss_layer("z") + "layer { name: 'loss2' type: 'Loss' bottom: 'u' top: 'loss2' loss_weight: 0.5 }");
  const auto own = small_net(parameter), shared = small_net(parameter, {}, nullptr, true);
  const auto gradients = [](Net& net, const Shape& shape) {
    net.inputs()[0]->reshape(shape);
    net.reshape();
    net.inputs()[0]->write_data(noise_vector(1, net.inputs()[0]->count()).data());
    net.forward();
    net.clear_gradients();
    net.backward();
    std::vector<float> all;
    for (const auto& p : net.learnable())
      for (const float g : p.blob->diff_vector()) all.push_back(g);
    return all;
  };
  for (const Shape& shape : {Shape{2, 3}, Shape{1, 1}, Shape{40, 9}})
    EXPECT_EQ(gradients(*own, shape), gradients(*shared, shape));
  const i64 before = own->memory().activation_gradients, after = shared->memory().activation_gradients;
  EXPECT_GT(after, 0);
  EXPECT_LT(after, before);
  EXPECT_EQ(own->memory().parameter_gradients, shared->memory().parameter_gradients);
}

}  // namespace
}  // namespace cortado::test::backward_test
