// DepthwiseConvolution and ConvolutionDepthwise: a convolution like another, whose groups are counted for it.
#include "core/base/error.h"
#include "layers/convolution/convolution.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::depthwise_test {
namespace {

class DepthwiseTest : public ::testing::TestWithParam<std::string> {};

std::string text(const std::string& type, const std::string& options) {
  return "name: \"c\" type: \"" + type +
         "\" convolution_param { weight_filler { type: \"xavier\" } bias_filler { value: 0.5 } " + options + " }";
}

/// What the layer plans and computes, there and back.
struct Result {
  PlanBook plans;
  Shape weights;
  std::vector<std::vector<float>> values;
  bool operator==(const Result& other) const {
    return plans == other.plans && weights == other.weights && values == other.values;
  }
};

Result result(const std::string& backend, const std::string& type, const std::string& options, const Shape& shape) {
  LayerRig rig(backend, text(type, options), {shape});
  rig.forward();
  rig.fill_top_diff(0, [](i64 i) { return noise(2, i); });
  rig.backward();
  return {
      rig.layer().plans(),
      rig.blob(0).shape(),
      {rig.top(0).data_vector(), rig.bottom(0).diff_vector(), rig.blob(0).diff_vector(), rig.blob(1).diff_vector()}};
}

TEST_P(DepthwiseTest, IsTheConvolutionWithAGroupForEachChannel) {
  struct Case {
    std::string window;
    Shape shape;
  };
  for (const Case& c :
       {Case{"kernel_size: 3 pad: 1", {2, 5, 7, 6}}, Case{"kernel_size: 3 pad: 1 stride: 2", {1, 32, 9, 9}},
        Case{"kernel_h: 1 kernel_w: 3", {1, 1, 3, 5}}, Case{"kernel_size: 3 dilation: 2", {2, 16, 8, 7}}}) {
    SCOPED_TRACE(c.window);
    const std::string n = std::to_string(c.shape[1]), outputs = " num_output: " + n, groups = " group: " + n;
    const Result wanted = result(GetParam(), "Convolution", c.window + outputs + groups, c.shape);
    EXPECT_EQ(wanted.weights[1], 1);
    for (const char* const type : {"DepthwiseConvolution", "ConvolutionDepthwise"})
      for (const std::string& given : {std::string(), outputs, groups, outputs + groups})
        EXPECT_TRUE(result(GetParam(), type, c.window + given, c.shape) == wanted) << type << given;
  }
}

TEST_P(DepthwiseTest, ChannelsMayBeMultiplied) {
  const Shape shape = {2, 3, 5, 5};
  EXPECT_TRUE(result(GetParam(), "DepthwiseConvolution", "kernel_size: 3 num_output: 6", shape) ==
              result(GetParam(), "Convolution", "kernel_size: 3 num_output: 6 group: 3", shape));
}

TEST_P(DepthwiseTest, OtherGroupsAreRefused) {
  const auto complaint = [&](const std::string& options) -> std::string {
    try {
      LayerRig(GetParam(), text("DepthwiseConvolution", options), {{2, 6, 5, 5}});
    } catch (const ConfigError& error) { return error.what(); }
    return "";
  };
  const std::string groups = complaint("kernel_size: 3 group: 2");
  for (const char* const part : {"layer 'c'", "group is 2", "6 channels", "Convolution"})
    EXPECT_NE(groups.find(part), std::string::npos) << groups;
  EXPECT_NE(complaint("kernel_size: 3 num_output: 7").find("7 output channels"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Backends, DepthwiseTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::depthwise_test
