// BatchNorm's blobs as forks of Caffe write them.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/net/net.h"
#include "layers/all_layers.h"
#include "tests/support/backends.h"

namespace cortado::test::fork_weights_test {
namespace {
std::unique_ptr<Net> net_with(const std::string& behind) {
  caffe::NetParameter parameter;
  parse_text(
      R"(name: "forks" layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 dim: 1 dim: 1 } } }
    layer { name: "bn" type: "BatchNorm" bottom: "data" top: "x" })" +
          behind,
      "net", parameter);
  parameter.mutable_state()->set_phase(caffe::TEST);
  NetOptions options;
  static const LayerTable layers = all_layers();
  options.layers = &layers;
  options.group = &group_of("reference");
  return std::make_unique<Net>(parameter, options);
}

caffe::NetParameter weights(const std::string& blobs) {
  caffe::NetParameter read;
  parse_text("layer { name: \"bn\" " + blobs + " }", "weights", read);
  return read;
}

const std::string statistics =
    "blobs { shape { dim: 1 dim: 2 dim: 1 dim: 1 } data: [2, 4] } "
    "blobs { shape { dim: 1 dim: 2 dim: 1 dim: 1 } data: [1, 4] } ";

/// What taking them complains about.
std::string complaint(Net& net, const std::string& blobs) {
  try {
    net.copy_trained(weights(blobs));
  } catch (const ShapeError& error) { return error.what(); }
  return "";
}

std::vector<float> result(Net& net) {
  const float values[] = {3, 8};
  net.blob("data")->write_data(values);
  net.forward();
  return net.outputs()[0].blob->data_vector();
}

TEST(ForkWeights, StatisticsWithoutAFactorAreWhole) {
  const auto net = net_with("");
  net->copy_trained(weights(statistics + "blobs { shape { dim: 1 } data: [0] }"));
  const auto y = result(*net);
  EXPECT_NEAR(y[0], 1, 1e-3);
  EXPECT_NEAR(y[1], 2, 1e-3);
  net->copy_trained(
      weights("blobs { shape { dim: 2 } data: [0, 0] } blobs { shape { dim: 2 } data: [0, 0] } "
              "blobs { shape { dim: 1 } data: [0] }"));
  EXPECT_EQ(net->layer("bn")->blobs()[2]->data_vector()[0], 0) << "of a net that was not trained";
}

TEST(ForkWeights, FiveBlobsReachTheScaleBehind) {
  const std::string five = statistics +
                           "blobs { shape { dim: 1 } data: [1] } "
                           "blobs { shape { dim: 1 dim: 2 dim: 1 dim: 1 } data: [10, 20] } "
                           "blobs { shape { dim: 1 dim: 2 dim: 1 dim: 1 } data: [5, 6] }";
  const auto net =
      net_with("layer { name: \"sc\" type: \"Scale\" bottom: \"x\" top: \"y\" scale_param { bias_term: true } }");
  net->copy_trained(weights(five));
  const auto y = result(*net);
  EXPECT_NEAR(y[0], 15, 1e-2);
  EXPECT_NEAR(y[1], 46, 1e-2);
  EXPECT_NE(complaint(*net_with(""), five).find("let a Scale layer with bias_term: true follow"), std::string::npos);
  const std::string two =
      "blobs { shape { dim: 1 dim: 2 dim: 1 dim: 1 } data: [10, 20] } blobs { shape { dim: 2 } data: [5, 6] } ";
  const auto four =
      net_with("layer { name: \"sc\" type: \"Scale\" bottom: \"x\" top: \"y\" scale_param { bias_term: true } }");
  four->copy_trained(weights(two + statistics));
  EXPECT_EQ(result(*four), y) << "BN's order";
  EXPECT_NE(complaint(*net_with(""), two + statistics).find("let a Scale layer"), std::string::npos);
  EXPECT_NE(complaint(*net_with(""), "type: \"BN\" " + two).find("let a Scale layer"), std::string::npos);
}

TEST(ForkWeights, OnesInAShapeAreNoMatter) {
  const auto net =
      net_with("layer { name: \"sc\" type: \"Scale\" bottom: \"x\" top: \"y\" scale_param { bias_term: true } }");
  const auto with = [](const std::string& shape) {
    caffe::NetParameter read;
    parse_text("layer { name: 'sc' blobs { shape { " + shape +
                   " } data: [3, 4] } blobs { shape { dim: 2 dim: 1 } data: [5, 6] } }",
               "weights", read);
    return read;
  };
  net->copy_trained(with("dim: 1 dim: 2 dim: 1 dim: 1"));
  EXPECT_EQ(net->layer("sc")->blobs()[0]->data_vector(), (std::vector<float>{3, 4}));
  EXPECT_THROW(net->copy_trained(with("dim: 1")), Error);
}

}  // namespace
}  // namespace cortado::test::fork_weights_test
