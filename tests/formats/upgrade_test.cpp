#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "tests/support/temporary_folder.h"

namespace cortado::test {
namespace {
caffe::NetParameter upgraded(const std::string& text) {
  caffe::NetParameter net;
  parse_text(text, "net.prototxt", net);
  upgrade_net(net, "net.prototxt");
  return net;
}

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

TEST(Upgrade, V0AndMixedNetsAreRefusedByName) {
  try {
    upgraded("layers { layer { name: \"conv\" type: \"conv\" } }");
    FAIL() << "a V0 net was accepted";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("net.prototxt: is a V0 net"), std::string::npos);
  }
  EXPECT_THROW(upgraded("layer { name: \"a\" } layers { name: \"b\" }"), ConfigError);
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
}  // namespace cortado::test
