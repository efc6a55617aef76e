// Strided convolutions of single pixels that read one blob: they share the pixels, and nothing changes but time.
#include <gtest/gtest.h>

#include "core/net/passes/net_text.h"
#include "tests/support/layer_rig.h"
#include "tests/support/real_nets.h"

namespace cortado::test::subsampling_test {
namespace {

std::string conv(const std::string& name, const std::string& bottom, const std::string& window) {
  return "layer { name: '" + name + "' type: 'Convolution' bottom: '" + bottom + "' top: '" + name +
         "' convolution_param { num_output: 16 weight_filler { type: 'xavier' } bias_filler { type: 'uniform' } " +
         window + " } }";
}

const std::string data =
    "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 2 dim: 3 dim: 9 dim: 12 } } }";

caffe::NetParameter split_net(const std::string& readers) {
  caffe::NetParameter net;
  parse_text(data + conv("c", "data", "kernel_size: 3") + readers, "net", net);
  return insert_splits(net, all_layers());
}

/// What is put before the split of the blob 'c'.
std::optional<caffe::LayerParameter> shared(caffe::NetParameter& net) {
  return share_subsampling(net, 2, all_layers());
}

TEST(Subsampling, OneLayerTakesThePixelsOfAllReaders) {
  const std::string stride = "stride_h: 2 stride_w: 3 ";
  auto net = split_net(conv("a", "c", "kernel_size: 1 stride: 2 stride: 3") +
                       conv("b", "c", stride + "kernel_h: 1 kernel_w: 1 pad: 0") +
                       conv("d", "c", stride + "kernel_size: 1 kernel_size: 1"));
  const auto layer = shared(net);
  ASSERT_TRUE(layer.has_value());
  EXPECT_EQ(layer->type(), "Pooling");
  EXPECT_EQ(layer->bottom(0), "c");
  EXPECT_EQ(layer->top(0), "c_subsampled");
  EXPECT_EQ(layer->pooling_param().stride_h(), 2u);
  EXPECT_EQ(layer->pooling_param().stride_w(), 3u);
  EXPECT_EQ(net.layer(2).bottom(0), "c_subsampled");
  for (int i = 3; i < 6; ++i) {
    const auto& p = net.layer(i).convolution_param();
    EXPECT_TRUE(p.stride_size() == 0 && !p.has_stride_h() && !p.has_stride_w()) << net.layer(i).name();
  }
}

TEST(Subsampling, ReadersThatReadOtherPixelsKeepTheBlob) {
  const std::string strided = conv("a", "c", "kernel_size: 1 stride: 2");
  for (const std::string& other : {
           conv("b", "c", "kernel_size: 1"),
           conv("b", "c", "kernel_size: 1 stride: 3"),
           conv("b", "c", "kernel_size: 3 stride: 2"),
           conv("b", "c", "kernel_size: 1 stride: 2 pad: 1"),
           conv("b", "c", "kernel_size: 1 stride: 2 pad_h: 1 pad_w: 0"),
           conv("b", "c", "kernel_h: 1 kernel_w: 3 stride: 2"),
           conv("b", "c", "kernel_size: 1 stride: 2 axis: 2"),
           std::string("layer { name: 'b' type: 'Silence' bottom: 'c' }"),
       }) {
    auto net = split_net(strided + other);
    EXPECT_FALSE(shared(net).has_value()) << other;
    EXPECT_EQ(net.layer(2).bottom(0), "c") << other;
    EXPECT_EQ(net.layer(3).convolution_param().stride(0), 2u) << other;
  }
  auto every = split_net(conv("a", "c", "kernel_size: 1") + conv("b", "c", "kernel_size: 1"));
  EXPECT_FALSE(shared(every).has_value());
}

/// Makes 'c', the end of a residual block, which one layer makes as a whole where nobody looks.
const std::string residual = conv("d", "data", "kernel_size: 3") + conv("e", "data", "kernel_size: 3") + R"(
    layer { name: 'bn' type: 'BatchNorm' bottom: 'd' top: 'd' }
    layer { name: 'scale' type: 'Scale' bottom: 'd' top: 'd' scale_param { bias_term: true } }
    layer { name: 'c' type: 'Eltwise' bottom: 'd' bottom: 'e' top: 'c' }
    layer { name: 'relu' type: 'ReLU' bottom: 'c' top: 'c' })";

class SubsampledNet : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Net> run(const std::string& readers, Precision precision) {
    NetOptions options = net_options(GetParam());
    options.precision = precision;
    options.only_trains = true;
    auto net = std::make_unique<Net>(training_net(data + residual + readers), options);
    net->inputs()[0]->write_data(noise_vector(1, net->inputs()[0]->count()).data());
    net->clear_gradients();
    net->forward();
    net->backward();
    return net;
  }
};

/// A Silence that reads the blob too keeps its readers apart.
TEST_P(SubsampledNet, LossAndGradientsAreThoseOfReadersApart) {
  const std::string readers = conv("a", "c", "kernel_size: 1 stride_h: 2 stride_w: 3") +
                              conv("b", "c", "kernel_size: 1 stride: 2 stride: 3") + R"(
      layer { name: 'sum' type: 'Eltwise' bottom: 'a' bottom: 'b' top: 'sum' }
      layer { name: 'loss' type: 'Reduction' bottom: 'sum' top: 'loss' loss_weight: 1 reduction_param { operation: SUMSQ coeff: 0.01 } })";
  for (const auto precision : {Precision::fp32, Precision::bf16}) {
    if (precision == Precision::bf16 && !group_of(GetParam()).spec().bf16) continue;
    const auto together = run(readers, precision),
               apart = run(readers + "layer { name: 's' type: 'Silence' bottom: 'c' }", precision);
    EXPECT_EQ(together->blob("c_subsampled")->shape(), (Shape{2, 16, 4, 4}));
    EXPECT_EQ(apart->blob("c_subsampled"), nullptr);
    const float bound = precision == Precision::fp32 ? 1e-5F : 2e-2F;
    EXPECT_NEAR(together->loss(), apart->loss(), bound * apart->loss());
    ASSERT_EQ(together->learnable().size(), 13u);
    for (std::size_t i = 0; i < 13; ++i)
      expect_near(together->learnable()[i].blob->diff_vector(), apart->learnable()[i].blob->diff_vector(), bound,
                  bound);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, SubsampledNet, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::subsampling_test
