// The beginnings of published nets of Caffe's forks, written as they write them, with fewer channels: they load, have
// the sizes that they were trained with, and go forward and backward.
#include <gtest/gtest.h>

#include <cmath>

#include "app/session/backend.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/net/net.h"
#include "layers/all_layers.h"

namespace cortado::test::forks_nets_test {
namespace {

std::string convolution(const std::string& name, const std::string& bottom, const std::string& more) {
  return "layer { name: '" + name + "' type: 'Convolution' bottom: '" + bottom + "' top: '" + name +
         "' convolution_param { bias_term: false weight_filler { type: 'msra' } " + more + " } }\n";
}

/// BatchNorm, Scale and ReLU in place on a blob, or on a copy of it that `top` names.
std::string normalised(const std::string& bottom, const std::string& top = "") {
  const std::string to = top.empty() ? bottom : top;
  return "layer { name: '" + to + "/bn' type: 'BatchNorm' bottom: '" + bottom + "' top: '" + to +
         "' batch_norm_param { eps: 1e-5 engine: CAFFE } }\nlayer { name: '" + to + "/scale' type: 'Scale' bottom: '" +
         to + "' top: '" + to + "' scale_param { bias_term: true } }\nlayer { name: '" + to +
         "/relu' type: 'ReLU' bottom: '" + to + "' top: '" + to + "' }\n";
}

std::string pool(const std::string& name, const std::string& bottom, const std::string& more) {
  return "layer { name: '" + name + "' type: 'Pooling' bottom: '" + bottom + "' top: '" + name + "' pooling_param { " +
         more + " } }\n";
}

std::string joined(const std::string& name, const std::string& type, const std::string& a, const std::string& b) {
  return "layer { name: '" + name + "' type: '" + type + "' bottom: '" + a + "' bottom: '" + b + "' top: '" + name +
         "' }\n";
}

std::string classified(const std::string& bottom) {
  return pool("pool_all", bottom, "pool: AVE global_pooling: true") +
         "layer { name: 'fc' type: 'InnerProduct' bottom: 'pool_all' top: 'fc' inner_product_param { num_output: 5 "
         "weight_filler { type: 'xavier' } } }\n"
         "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'fc' bottom: 'label' top: 'loss' }\n";
}

const std::string stem =
    convolution("conv1", "data", "num_output: 16 pad: 3 kernel_size: 7 stride: 2") + normalised("conv1");

// shicai/DenseNet-Caffe.
const std::string densenet =
    stem + pool("pool1", "conv1", "pool: MAX kernel_size: 3 stride: 2 pad: 1 ceil_mode: false") +
    normalised("pool1", "x1") + convolution("conv2_1", "x1", "num_output: 8 kernel_size: 3 pad: 1") +
    joined("concat_2_1", "Concat", "pool1", "conv2_1") + normalised("concat_2_1", "blk") +
    convolution("conv2_blk", "blk", "num_output: 12 kernel_size: 1") +
    pool("pool2", "conv2_blk", "pool: AVE kernel_size: 2 stride: 2") + classified("pool2");

// soeaver/caffe-model: ResNeXt, DPN, AIR and a ResNet.
const std::string resnext =
    stem + pool("pool1", "conv1", "pool: MAX kernel_size: 3 stride: 2 ceil_mode: false") +
    convolution("conv2_1_x1", "pool1", "num_output: 16 kernel_size: 1") + normalised("conv2_1_x1") +
    convolution("conv2_1_x2", "conv2_1_x1", "num_output: 16 kernel_size: 3 pad: 1 group: 4") +
    normalised("conv2_1_x2") + convolution("conv2_1_x3", "conv2_1_x2", "num_output: 32 kernel_size: 1") +
    convolution("conv2_1_proj", "pool1", "num_output: 32 kernel_size: 1") +
    joined("conv2_1", "Eltwise", "conv2_1_x3", "conv2_1_proj") + normalised("conv2_1", "out") + classified("out");

const std::string dpn = stem + pool("pool1", "conv1", "pool: MAX kernel_size: 3 stride: 2 ceil_mode: false") +
                        convolution("proj", "pool1", "num_output: 24 kernel_size: 1") +
                        "layer { name: 'slice' type: 'Slice' bottom: 'proj' top: 'sum_part' top: 'dense_part' "
                        "slice_param { slice_point: 16 } }\n" +
                        convolution("x", "pool1", "num_output: 24 kernel_size: 3 pad: 1") +
                        "layer { name: 'slice_x' type: 'Slice' bottom: 'x' top: 'sum_x' top: 'dense_x' slice_param { "
                        "slice_point: 16 } }\n" +
                        joined("sum", "Eltwise", "sum_part", "sum_x") +
                        joined("dense", "Concat", "dense_part", "dense_x") + joined("both", "Concat", "sum", "dense") +
                        normalised("both", "out") + classified("out");

const std::string air =
    convolution("conv1", "data", "num_output: 8 pad: 1 kernel_size: 3 stride: 2 engine: CUDNN") + normalised("conv1") +
    convolution("conv2", "conv1", "num_output: 16 pad: 1 kernel_size: 3") + normalised("conv2") +
    pool("pool1", "conv2", "pool: MAX kernel_size: 3 stride: 2 pad: 0 ceil_mode: false") +
    convolution("a", "pool1", "num_output: 8 kernel_size: 1") +
    convolution("b", "pool1", "num_output: 8 kernel_size: 3 pad: 1") + joined("ab", "Concat", "a", "b") +
    normalised("ab") + joined("sum", "Eltwise", "ab", "pool1") + classified("sum");

const std::string resnet = stem + pool("pool1", "conv1", "pool: MAX kernel_size: 3 stride: 2 ceil_mode: true") +
                           convolution("holes", "pool1", "num_output: 16 kernel_size: 3 pad: 2 hole: 2") +
                           joined("sum", "Eltwise", "holes", "pool1") + classified("sum");

struct Published {
  const char* name;
  const std::string& net;
  Shape pooled;  ///< of pool1, for images of 40 x 46
};

class ForksNets : public ::testing::TestWithParam<Published> {};

TEST_P(ForksNets, LoadAsPublished) {
  caffe::NetParameter parameter;
  parse_text(
      "layer { name: 'data' type: 'DummyData' top: 'data' top: 'label' dummy_data_param { shape { dim: 2 dim: 3 dim: "
      "40 "
      "dim: 46 } shape { dim: 2 } data_filler { type: 'gaussian' } data_filler { value: 1 } } }\n" +
          GetParam().net,
      "net", parameter);
  parameter.mutable_state()->set_phase(caffe::TRAIN);
  static const auto processor = make_processor();
  const LayerTable layers = all_layers();
  NetOptions options;
  options.group = &processor->group(0);
  options.layers = &layers;
  Net net(parameter, options);
  EXPECT_EQ(net.blob("pool1")->shape(), GetParam().pooled);
  net.forward();
  EXPECT_TRUE(std::isfinite(net.loss()));
  net.clear_gradients();
  net.backward();
  for (const auto& learnable : net.learnable()) {
    if (learnable.statistic) continue;
    double sum = 0;
    for (const float g : learnable.blob->diff_vector()) sum += std::fabs(double{g});
    EXPECT_TRUE(std::isfinite(sum) && sum > 0) << learnable.layer;
  }
}

// 40 x 46 becomes 20 x 23 by the first convolution.
INSTANTIATE_TEST_SUITE_P(Models, ForksNets,
                         ::testing::Values(Published{"densenet", densenet, {2, 16, 10, 12}},
                                           Published{"resnext", resnext, {2, 16, 9, 11}},
                                           Published{"dpn", dpn, {2, 16, 9, 11}}, Published{"air", air, {2, 16, 9, 11}},
                                           Published{"resnet", resnet, {2, 16, 10, 11}}),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace cortado::test::forks_nets_test
