// Where mixed precision puts casts, and that nets train in it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/formats/prototxt.h"
#include "core/net/net.h"
#include "core/net/passes/net_text.h"
#include "layers/all_layers.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::precision_test {
namespace {

/// "name: bottoms -> tops" of every layer.
std::string lines_of(const caffe::NetParameter& net) {
  std::string lines;
  for (const auto& layer : net.layer()) {
    lines += layer.name() + ":";
    for (const auto& bottom : layer.bottom()) lines += " " + bottom;
    lines += " ->";
    for (const auto& top : layer.top()) lines += " " + top;
    lines += "\n";
  }
  return lines;
}

std::string cast(const std::string& text) {
  caffe::NetParameter net;
  parse_text(text, "net", net);
  return lines_of(insert_casts(net, all_layers()));
}

const std::string data =
    "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 2 dim: 3 dim: 9 dim: 9 } } }";
const std::string conv = R"(layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv'
  convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: 'xavier' } } })";

TEST(InsertCasts, ConvolutionsBeginAndOthersFollowAsFarAsTheyCan) {
  EXPECT_EQ(
      cast(data + "layer { name: 'relu0' type: 'ReLU' bottom: 'data' top: 'data' }" + conv + R"(
      layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' }
      layer { name: 'pool' type: 'Pooling' bottom: 'conv' top: 'pool' pooling_param { kernel_size: 2 } }
      layer { name: 'ip' type: 'InnerProduct' bottom: 'pool' top: 'ip' inner_product_param { num_output: 2 } }
      layer { name: 'drop' type: 'Dropout' bottom: 'ip' top: 'ip' }
      layer { name: 'softmax' type: 'Softmax' bottom: 'ip' top: 'softmax' })"),
      "data: -> data\nrelu0: data -> data\ndata_conv_bf16: data -> data_conv_bf16\nconv: data_conv_bf16 -> conv\n"
      "relu: conv -> conv\npool: conv -> pool\nip: pool -> ip\ndrop: ip -> ip\nip_softmax_fp32: ip -> ip_softmax_fp32\n"
      "softmax: ip_softmax_fp32 -> softmax\n");
}

TEST(InsertCasts, InnerProductsBeginUnlessRanksDivideThem) {
  const std::string ip = "layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param { ";
  EXPECT_EQ(cast(data + ip + "num_output: 2 } }"),
            "data: -> data\ndata_ip_bf16: data -> data_ip_bf16\nip: data_ip_bf16 -> ip\n");
  EXPECT_EQ(cast(data + ip + "num_output: 2 divided: OUTPUTS } }"), "data: -> data\nip: data -> ip\n");
}

TEST(InsertCasts, LargeKernelsStayInSinglePrecision) {
  const auto kernel = [](const std::string& size) {
    return cast(data + "layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' convolution_param { " +
                size + " } }");
  };
  const std::string single = "data: -> data\nconv: data -> conv\n",
                    mixed = "data: -> data\ndata_conv_bf16: data -> data_conv_bf16\nconv: data_conv_bf16 -> conv\n";
  EXPECT_EQ(kernel("kernel_size: 22"), mixed);
  EXPECT_EQ(kernel("kernel_size: 23"), single);
  EXPECT_EQ(kernel("kernel_h: 1 kernel_w: 512"), mixed);
  EXPECT_EQ(kernel("kernel_h: 1 kernel_w: 4000"), single);
}

TEST(InsertCasts, OneCastServesAllWhoNeedIt) {
  EXPECT_EQ(cast(data + conv + R"(
      layer { name: 'norm' type: 'MVN' bottom: 'conv' top: 'norm' }
      layer { name: 'prelu' type: 'PReLU' bottom: 'conv' top: 'prelu' }
      layer { name: 'sum' type: 'Eltwise' bottom: 'norm' bottom: 'conv' top: 'sum' })"),
            "data: -> data\ndata_conv_bf16: data -> data_conv_bf16\nconv: data_conv_bf16 -> conv\n"
            "conv_norm_fp32: conv -> conv_norm_fp32\nnorm: conv_norm_fp32 -> norm\nprelu: conv_norm_fp32 -> prelu\n"
            "norm_sum_bf16: norm -> norm_sum_bf16\nsum: norm_sum_bf16 conv -> sum\n");
}

TEST(InsertCasts, ALayerInPlaceOnWhatIsCastKeepsTheBlobsName) {
  EXPECT_EQ(cast(data + conv + R"(
      layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' }
      layer { name: 'prelu' type: 'PReLU' bottom: 'conv' top: 'conv' }
      layer { name: 'pool' type: 'Pooling' bottom: 'conv' top: 'pool' pooling_param { kernel_size: 2 } })"),
            "data: -> data\ndata_conv_bf16: data -> data_conv_bf16\nconv: data_conv_bf16 -> conv_prelu_bf16\n"
            "relu: conv_prelu_bf16 -> conv_prelu_bf16\nconv_prelu_fp32: conv_prelu_bf16 -> conv\nprelu: conv -> conv\n"
            "pool: conv -> pool\n");
}

TEST(InsertCasts, LayersOptOut) {
  EXPECT_EQ(cast(data + "layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' precision: FP32 }"),
            "data: -> data\nconv: data -> conv\n");
}

std::unique_ptr<Net> net_in(const std::string& backend, Precision precision) {
  static const LayerTable layers = all_layers();
  caffe::NetParameter parameter;
  parse_text(data + conv + R"(
      layer { name: 'bn' type: 'BatchNorm' bottom: 'conv' top: 'conv' }
      layer { name: 'scale' type: 'Scale' bottom: 'conv' top: 'conv' scale_param { bias_term: true } }
      layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' }
      layer { name: 'a' type: 'Convolution' bottom: 'conv' top: 'a'
        convolution_param { num_output: 4 kernel_size: 1 weight_filler { type: 'xavier' } } }
      layer { name: 'sum' type: 'Eltwise' bottom: 'conv' bottom: 'a' top: 'sum' }
      layer { name: 'pool' type: 'Pooling' bottom: 'sum' top: 'pool' pooling_param { pool: AVE kernel_size: 7 } }
      layer { name: 'ip' type: 'InnerProduct' bottom: 'pool' top: 'ip'
        inner_product_param { num_output: 3 weight_filler { type: 'xavier' } } }
      layer { name: 'label' type: 'DummyData' top: 'label' dummy_data_param { shape { dim: 2 }
        data_filler { value: 1 } } }
      layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' })",
             "net", parameter);
  parameter.mutable_state()->set_phase(caffe::TRAIN);
  NetOptions options;
  options.group = &group_of(backend);
  options.layers = &layers;
  options.precision = precision;
  auto net = std::make_unique<Net>(parameter, options);
  for (Blob* input : net->inputs()) input->write_data(noise_vector(4, input->count()).data());
  return net;
}

class MixedPrecision : public ::testing::TestWithParam<std::string> {};

TEST_P(MixedPrecision, GradientsAreThoseOfFloatWithinItsRounding) {
  if (!group_of(GetParam()).spec().bf16) {
    EXPECT_THROW(net_in(GetParam(), Precision::bf16), ConfigError);
    return;
  }
  const auto exact = net_in(GetParam(), Precision::fp32), mixed = net_in(GetParam(), Precision::bf16);
  for (Net* net : {exact.get(), mixed.get()}) {
    net->clear_gradients();
    net->forward();
    net->backward();
  }
  EXPECT_EQ(mixed->blob("sum")->precision(), Precision::bf16);
  EXPECT_EQ(mixed->blob("ip")->precision(), Precision::bf16);
  EXPECT_LT(mixed->memory().activations, exact->memory().activations);
  EXPECT_NEAR(mixed->loss(), exact->loss(), 1e-2 * exact->loss());
  ASSERT_EQ(mixed->learnable().size(), exact->learnable().size());
  for (std::size_t i = 0; i < exact->learnable().size(); ++i) {
    if (exact->learnable()[i].statistic) continue;
    const auto expected = exact->learnable()[i].blob->diff_vector(), here = mixed->learnable()[i].blob->diff_vector();
    float most = 0;
    for (const float v : expected) most = std::max(most, std::fabs(v));
    SCOPED_TRACE(exact->learnable()[i].layer);
    // A ReLU's input may round to the other side of zero, so single elements differ by more than their rounding. The
    // bias ahead of BatchNorm has gradient 0 but for rounding.
    expect_near(here, expected, 0.05F * most + 5e-3F, 0);
  }
}

class MixedPrecisionInPlace : public MixedPrecision {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MixedPrecisionInPlace);

TEST_P(MixedPrecisionInPlace, OutputsKeepTheirNames) {
  static const LayerTable layers = all_layers();
  caffe::NetParameter parameter;
  parse_text(data + conv + "layer { name: 'sigmoid' type: 'Sigmoid' bottom: 'conv' top: 'conv' precision: FP32 }",
             "net", parameter);
  NetOptions options;
  options.group = &group_of(GetParam());
  options.layers = &layers;
  options.precision = Precision::bf16;
  Net net(parameter, options);
  net.forward();
  ASSERT_EQ(net.outputs().size(), 1u);
  EXPECT_EQ(net.outputs()[0].name, "conv");
  EXPECT_EQ(net.blob("conv")->precision(), Precision::fp32);
  EXPECT_EQ(net.blob("conv_sigmoid_bf16")->precision(), Precision::bf16);
  for (const float value : net.blob("conv")->data_vector()) EXPECT_EQ(value, 0.5F) << "the input is zero";
}

INSTANTIATE_TEST_SUITE_P(Backends, MixedPrecision, all_backends(), backend_name);
INSTANTIATE_TEST_SUITE_P(Backends, MixedPrecisionInPlace, bf16_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::precision_test
