#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/formats/upgraded.h"
#include "tests/support/temporary_folder.h"

namespace cortado::test::upgrade_test {
namespace {
TEST(Upgrade, InputFieldsBecomeAnInputLayerInFront) {
  for (const std::string shape :
       {"input_dim: 2 input_dim: 3 input_dim: 5 input_dim: 7", "input_shape { dim: 2 dim: 3 dim: 5 dim: 7 }"}) {
    const auto net = upgraded("input: \"data\" " + shape + R"( layer { name: "a" } layer { name: "b" })");
    ASSERT_EQ(net.layer_size(), 3);
    EXPECT_EQ(net.layer(0).type(), "Input");
    EXPECT_EQ(net.layer(0).top(0), "data");
    const auto& dims = net.layer(0).input_param().shape(0).dim();
    EXPECT_EQ(std::vector<int>(dims.begin(), dims.end()), (std::vector<int>{2, 3, 5, 7}));
    EXPECT_EQ(net.layer(1).name(), "a");
    EXPECT_EQ(net.layer(2).name(), "b");
    EXPECT_EQ(net.input_size() + net.input_dim_size() + net.input_shape_size(), 0);
  }
}

TEST(Upgrade, InputsNeedAShapeEach) {
  EXPECT_THROW(upgraded("input: \"a\" input: \"b\" input_dim: 1 input_dim: 1 input_dim: 1 input_dim: 1"), ConfigError);
  EXPECT_THROW(upgraded("input: \"a\" input: \"b\" input_shape { dim: 1 }"), ConfigError);
}

TEST(Upgrade, TransformationsOfOldDataLayersMove) {
  const auto net = upgraded(R"(
    layers { name: "d" type: DATA data_param { source: "a" batch_size: 2 scale: 0.5 mirror: true } }
    layers { name: "i" type: IMAGE_DATA image_data_param { source: "b" crop_size: 7 mean_file: "m" } }
    layers { name: "e" type: DATA data_param { source: "c" } })");
  EXPECT_EQ(net.layer(0).transform_param().scale(), 0.5f);
  EXPECT_TRUE(net.layer(0).transform_param().mirror());
  EXPECT_FALSE(net.layer(0).data_param().has_scale());
  EXPECT_EQ(net.layer(0).data_param().batch_size(), 2u);
  EXPECT_EQ(net.layer(1).transform_param().crop_size(), 7u);
  EXPECT_EQ(net.layer(1).transform_param().mean_file(), "m");
  EXPECT_FALSE(net.layer(2).has_transform_param());
}

TEST(Upgrade, V1LayersBecomeLayers) {
  const auto net = upgraded(R"(
    layers { name: "conv" type: CONVOLUTION bottom: "data" top: "conv" blobs_lr: 1 blobs_lr: 2 weight_decay: 1
             weight_decay: 0 param: "w" blob_share_mode: PERMISSIVE convolution_param { num_output: 4 kernel_size: 3 }
             blobs { num: 1 channels: 1 height: 1 width: 1 data: 0.5 } include { phase: TEST } }
    layers { name: "loss" type: SOFTMAX_LOSS bottom: "conv" bottom: "label" top: "loss" loss_weight: 0.3 })");
  ASSERT_EQ(net.layer_size(), 2);
  EXPECT_EQ(net.layers_size(), 0);
  const auto& conv = net.layer(0);
  EXPECT_EQ(conv.name(), "conv");
  EXPECT_EQ(conv.type(), "Convolution");
  EXPECT_EQ(conv.bottom(0), "data");
  EXPECT_EQ(conv.convolution_param().num_output(), 4u);
  EXPECT_EQ(conv.param(0).name(), "w");
  EXPECT_EQ(conv.param(0).share_mode(), caffe::ParamSpec::PERMISSIVE);
  EXPECT_EQ(conv.param(1).lr_mult(), 2);
  EXPECT_EQ(conv.param(1).decay_mult(), 0);
  EXPECT_EQ(conv.blobs(0).data(0), 0.5f);
  EXPECT_EQ(conv.include(0).phase(), caffe::TEST);
  EXPECT_EQ(net.layer(1).type(), "SoftmaxWithLoss");
  EXPECT_EQ(net.layer(1).bottom_size(), 2);
  EXPECT_EQ(net.layer(1).loss_weight(0), 0.3f);
}

TEST(Upgrade, MixedNetsAreRefused) {
  EXPECT_THROW(upgraded("layer { name: \"a\" } layers { name: \"b\" }"), ConfigError);
  EXPECT_THROW(upgraded("layers { name: 'b' type: RELU } layers { layer { name: 'a' type: 'relu' } }"), ConfigError);
}

/// What a net is upgraded to, beside today's text of the same.
void expect_upgraded(const std::string& old, const std::string& today) {
  caffe::NetParameter expected;
  parse_text(today, "today", expected);
  EXPECT_EQ(upgraded(old).DebugString(), expected.DebugString());
}

TEST(Upgrade, V0LayersBecomeLayers) {
  expect_upgraded(R"(
    name: "old"
    layers { layer { name: "in" type: "data" source: "db" meanfile: "m" batchsize: 8 cropsize: 24 mirror: true
                     scale: 0.5 rand_skip: 3 } top: "data" top: "label" }
    layers { layer { name: "c" type: "conv" num_output: 6 kernelsize: 5 stride: 2 pad: 1 group: 2 biasterm: false
                     weight_filler { type: "gaussian" std: 0.1 } bias_filler { type: "constant" value: 1 }
                     blobs_lr: 1 blobs_lr: 2 weight_decay: 1 weight_decay: 0
                     blobs { num: 1 channels: 1 height: 1 width: 1 data: 3 } } bottom: "data" top: "c" }
    layers { layer { name: "r" type: "relu" } bottom: "c" top: "c" }
    layers { layer { name: "p" type: "pool" pool: AVE kernelsize: 3 stride: 2 pad: 1 } bottom: "c" top: "p" }
    layers { layer { name: "n" type: "lrn" local_size: 3 alpha: 0.1 beta: 0.5 k: 2 } bottom: "p" top: "n" }
    layers { layer { name: "cat" type: "concat" concat_dim: 0 } bottom: "n" bottom: "p" top: "cat" }
    layers { layer { name: "ip" type: "innerproduct" num_output: 4 biasterm: true } bottom: "cat" top: "ip" }
    layers { layer { name: "d" type: "dropout" dropout_ratio: 0.25 } bottom: "ip" top: "ip" }
    layers { layer { name: "l" type: "softmax_loss" } bottom: "ip" bottom: "label" })",
                  R"(
    name: "old"
    layer { name: "in" type: "Data" top: "data" top: "label" data_param { source: "db" batch_size: 8 rand_skip: 3 }
            transform_param { mean_file: "m" crop_size: 24 mirror: true scale: 0.5 } }
    layer { name: "c" type: "Convolution" bottom: "data" top: "c" param { lr_mult: 1 decay_mult: 1 }
            param { lr_mult: 2 decay_mult: 0 } blobs { num: 1 channels: 1 height: 1 width: 1 data: 3 }
            convolution_param { num_output: 6 kernel_size: 5 stride: 2 pad: 1 group: 2 bias_term: false
              weight_filler { type: "gaussian" std: 0.1 } bias_filler { type: "constant" value: 1 } } }
    layer { name: "r" type: "ReLU" bottom: "c" top: "c" }
    layer { name: "p" type: "Pooling" bottom: "c" top: "p"
            pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 } }
    layer { name: "n" type: "LRN" bottom: "p" top: "n" lrn_param { local_size: 3 alpha: 0.1 beta: 0.5 k: 2 } }
    layer { name: "cat" type: "Concat" bottom: "n" bottom: "p" top: "cat" concat_param { concat_dim: 0 } }
    layer { name: "ip" type: "InnerProduct" bottom: "cat" top: "ip"
            inner_product_param { num_output: 4 bias_term: true } }
    layer { name: "d" type: "Dropout" bottom: "ip" top: "ip" dropout_param { dropout_ratio: 0.25 } }
    layer { name: "l" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" })");
}

TEST(Upgrade, V0DataLayersKeepTheirFields) {
  expect_upgraded(R"(
    layers { layer { name: "h" type: "hdf5_data" source: "list" batchsize: 2 } top: "a" }
    layers { layer { name: "i" type: "images" source: "list" batchsize: 2 shuffle_images: true new_height: 5
                     new_width: 6 mirror: true } top: "b" }
    layers { layer { name: "w" type: "window_data" source: "list" det_fg_threshold: 0.6 det_bg_threshold: 0.1
                     det_fg_fraction: 0.5 det_context_pad: 4 det_crop_mode: "square" } top: "w" }
    layers { layer { name: "x" type: "infogain_loss" source: "matrix" } bottom: "a" bottom: "b" }
    layers { layer { name: "o" type: "hdf5_output" hdf5_output_param { file_name: "f" } } bottom: "a" bottom: "b" })",
                  R"(
    layer { name: "h" type: "HDF5Data" top: "a" hdf5_data_param { source: "list" batch_size: 2 } }
    layer { name: "i" type: "ImageData" top: "b" transform_param { mirror: true }
            image_data_param { source: "list" batch_size: 2 shuffle: true new_height: 5 new_width: 6 } }
    layer { name: "w" type: "WindowData" top: "w" window_data_param { source: "list" fg_threshold: 0.6
              bg_threshold: 0.1 fg_fraction: 0.5 context_pad: 4 crop_mode: "square" } }
    layer { name: "x" type: "InfogainLoss" bottom: "a" bottom: "b" infogain_loss_param { source: "matrix" } }
    layer { name: "o" type: "HDF5Output" bottom: "a" bottom: "b" hdf5_output_param { file_name: "f" } })");
}

TEST(Upgrade, V0PaddingGoesIntoTheLayerBehind) {
  expect_upgraded(R"(
    input: "data" input_dim: 1 input_dim: 1 input_dim: 4 input_dim: 4
    layers { layer { name: "pad" type: "padding" pad: 2 } bottom: "data" top: "pad" }
    layers { layer { name: "c" type: "conv" num_output: 1 kernelsize: 5 } bottom: "pad" top: "c" }
    layers { layer { name: "pad2" type: "padding" pad: 1 } bottom: "c" top: "pad" }
    layers { layer { name: "p" type: "pool" kernelsize: 3 } bottom: "pad" top: "p" }
    layers { layer { name: "ip" type: "innerproduct" num_output: 1 } bottom: "p" top: "ip" })",
                  R"(
    layer { name: "input" type: "Input" top: "data" input_param { shape { dim: 1 dim: 1 dim: 4 dim: 4 } } }
    layer { name: "c" type: "Convolution" bottom: "data" top: "c"
            convolution_param { num_output: 1 pad: 2 kernel_size: 5 } }
    layer { name: "p" type: "Pooling" bottom: "c" top: "p" pooling_param { pad: 1 kernel_size: 3 } }
    layer { name: "ip" type: "InnerProduct" bottom: "p" top: "ip" inner_product_param { num_output: 1 } })");
  EXPECT_THROW(upgraded(R"(layers { layer { name: "pad" type: "padding" pad: 2 } bottom: "data" top: "pad" }
                           layers { layer { name: "r" type: "relu" } bottom: "pad" top: "r" })"),
               ConfigError);
}

TEST(Upgrade, V0TypesThatNeverWereAreNamed) {
  try {
    upgraded("layers { layer { name: \"x\" type: \"convolution\" } }");
    FAIL() << "an unknown type was accepted";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("net.prototxt, layer 'x'"), std::string::npos) << error.what();
  }
  // What has no use there is left out, as in Caffe.
  expect_upgraded("layers { layer { name: 'r' type: 'relu' num_output: 3 } }", "layer { name: 'r' type: 'ReLU' }");
}

TEST(Upgrade, BatchNormStatisticsDoNotLearn) {
  const auto net = upgraded(R"(layer { type: "BatchNorm" param { lr_mult: 1 } param {} param { decay_mult: 1 } })");
  for (const auto& param : net.layer(0).param()) {
    EXPECT_EQ(param.lr_mult(), 0);
    EXPECT_EQ(param.decay_mult(), 0);
  }
}

TEST(ReadSolver, ResolvesTheDeprecatedType) {
  TemporaryFolder folder;
  caffe::SolverParameter solver;
  read_solver(folder.write("s.prototxt", "solver_type: ADAGRAD"), solver);
  EXPECT_EQ(solver.type(), "AdaGrad");
  EXPECT_FALSE(solver.has_solver_type());
  EXPECT_THROW(read_solver(folder.write("t.prototxt", "solver_type: ADAM type: \"Adam\""), solver), ConfigError);
}

TEST(ReadSolver, CompletesTheSnapshotPrefix) {
  TemporaryFolder folder;
  caffe::SolverParameter solver;
  read_solver(folder.write("s.net.prototxt", ""), solver);
  EXPECT_EQ(solver.snapshot_prefix(), folder.file("s.net"));
  const std::string in_folder = "snapshot_prefix: \"" + folder.path().string() + "\"";
  read_solver(folder.write("s.prototxt", in_folder), solver);
  EXPECT_EQ(solver.snapshot_prefix(), folder.file("s"));
  read_solver(folder.write("s.prototxt", "snapshot_prefix: \"elsewhere/x\""), solver);
  EXPECT_EQ(solver.snapshot_prefix(), "elsewhere/x");
}

TEST(ReadSolver, UpgradesTheNetsWithin) {
  TemporaryFolder folder;
  caffe::SolverParameter solver;
  read_solver(folder.write("s.prototxt", "net_param { input: \"x\" input_shape { dim: 2 } }"), solver);
  EXPECT_EQ(solver.net_param().layer(0).type(), "Input");
}

}  // namespace
}  // namespace cortado::test::upgrade_test
