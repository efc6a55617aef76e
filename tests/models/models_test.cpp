// The nets of models/ are those of the literature: parameters and shapes as published; so are those that
// scripts/make-model writes. Built and shaped, never run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "core/formats/prototxt.h"
#include "core/net/net.h"
#include "layers/all_layers.h"
#include "parallel_io/feed/sources.h"
#include "tests/models/generated_data.h"
#include "tests/support/backends.h"

namespace cortado::test::models_test {
namespace {

struct Published {
  const char* name;
  i64 parameters;  ///< that learn; of two layers that share one, counted once
  std::vector<std::pair<const char*, Shape>> shapes;
  std::vector<const char*> scores;  ///< outputs when testing
  const char* stage = "";           ///< another than the default, with data of its own
};

const std::vector<const char*> classified = {"accuracy", "loss"};

const Published published[] = {
    {"alexnet",
     60965224,
     {{"conv1", {32, 96, 55, 55}}, {"norm2", {32, 256, 27, 27}}, {"pool5", {32, 256, 6, 6}}, {"fc8", {32, 1000}}},
     classified},
    {"alexnet_bn",
     60965224 + 1376,  // AlexNet with a factor per convolution channel as well as a term
     {{"conv1", {32, 96, 55, 55}}, {"pool2", {32, 256, 13, 13}}, {"pool5", {32, 256, 6, 6}}, {"fc8", {32, 1000}}},
     classified},
    {"caffenet",
     60965224,
     {{"norm1", {32, 96, 27, 27}}, {"norm2", {32, 256, 13, 13}}, {"pool5", {32, 256, 6, 6}}, {"fc8", {32, 1000}}},
     classified},
    {"vgg16",
     138357544,
     {{"conv1_2", {32, 64, 224, 224}}, {"conv4_3", {32, 512, 28, 28}}, {"pool5", {32, 512, 7, 7}}, {"fc8", {32, 1000}}},
     classified},
    {"vgg19",
     143667240,
     {{"conv3_4", {32, 256, 56, 56}}, {"conv5_4", {32, 512, 14, 14}}, {"pool5", {32, 512, 7, 7}}, {"fc8", {32, 1000}}},
     classified},
    {"resnet50",
     25557032 + 64,  // the published caffemodel gives conv1 a bias
     {{"pool1", {32, 64, 56, 56}},
      {"res2c", {32, 256, 56, 56}},
      {"res3a_branch1", {32, 512, 28, 28}},
      {"res4f", {32, 1024, 14, 14}},
      {"res5c", {32, 2048, 7, 7}},
      {"pool5", {32, 2048, 1, 1}}},
     {"accuracy", "accuracy_top5", "loss"}},
    {"googlenet",
     6998552 + 6379728,  // the net, its two auxiliary heads
     {{"pool2/3x3_s2", {32, 192, 28, 28}},
      {"inception_3a/output", {32, 256, 28, 28}},
      {"inception_4e/output", {32, 832, 14, 14}},
      {"inception_5b/output", {32, 1024, 7, 7}},
      {"loss1/ave_pool", {32, 512, 4, 4}},
      {"loss2/conv", {32, 128, 4, 4}},
      {"pool5/7x7_s1", {32, 1024, 1, 1}}},
     {"loss1/loss1", "loss1/top-1", "loss1/top-5", "loss2/loss2", "loss2/top-1", "loss2/top-5", "loss3/loss3",
      "loss3/top-1", "loss3/top-5"}},
    {"lenet", 431080, {{"conv2", {64, 50, 8, 8}}, {"ip2", {64, 10}}}, classified},
    {"lenet", 431080, {{"conv2", {64, 50, 8, 8}}, {"ip2", {64, 10}}}, classified, "digits"},
    {"mnist_mlp", 1863690, {{"ip2", {64, 1024}}, {"ip3", {64, 10}}}, classified},
    {"mnist_mlp", 1863690, {{"ip2", {64, 1024}}, {"ip3", {64, 10}}}, classified, "digits"},
    {"mnist_mlp", 1863690, {{"ip2", {64, 1024}}, {"ip3", {64, 10}}}, classified, "divided"},
    {"cifar10_quick", 145578, {{"pool1", {100, 32, 16, 16}}, {"pool3", {100, 64, 4, 4}}}, classified},
    {"cifar10_quick", 145578, {{"data", {100, 3, 32, 32}}, {"pool3", {100, 64, 4, 4}}}, classified, "digits"},
    {"cifar10_full", 89578, {{"norm1", {100, 32, 16, 16}}, {"pool3", {100, 64, 4, 4}}}, classified},
    {"cifar10_full", 89578, {{"data", {100, 3, 32, 32}}, {"pool3", {100, 64, 4, 4}}}, classified, "digits"},
    {"autoencoder", 2837314, {{"encode4", {100, 30}}, {"decode1", {100, 784}}}, {"cross_entropy_loss", "l2_error"}},
    {"autoencoder",
     2837314,
     {{"encode4", {100, 30}}, {"decode1", {100, 784}}},
     {"cross_entropy_loss", "l2_error"},
     "digits"},
    {"siamese", 431102, {{"conv2_p", {64, 50, 8, 8}}, {"feat", {64, 2}}, {"similar", {64}}}, {"loss"}},
    {"siamese", 431102, {{"conv2_p", {64, 50, 8, 8}}, {"feat", {64, 2}}, {"similar", {64}}}, {"loss"}, "digits"},
    {"lstm", 4418, {{"cont", {20, 32}}, {"label", {20, 32, 1}}, {"score", {20, 32, 2}}}, classified},
    {"lstm", 4418, {{"cont", {20, 32}}, {"label", {20, 32, 1}}, {"score", {20, 32, 2}}}, classified, "sequences"},
};

/// Random numbers for millions of parameters would take most of the test's time.
void fill_with_zeros(caffe::NetParameter& net) {
  for (auto& layer : *net.mutable_layer()) {
    if (layer.has_convolution_param()) layer.mutable_convolution_param()->clear_weight_filler();
    if (layer.has_inner_product_param()) layer.mutable_inner_product_param()->clear_weight_filler();
  }
}

/// What nets are built on, and with.
class Nets {
 public:
  Nets() {
    options_.group = &group_of(backend_names().back());
    options_.layers = &table_;
    options_.sources = &sources_;
  }

  std::unique_ptr<Net> build(const std::string& file, caffe::Phase phase, const std::string& stage = "") const {
    static const GeneratedData data(200);
    caffe::NetParameter parameter;
    read_net(file, parameter);
    parameter.mutable_state()->set_phase(phase);
    if (!stage.empty()) parameter.mutable_state()->add_stage(stage);
    data.feed(parameter);
    fill_with_zeros(parameter);
    return std::make_unique<Net>(parameter, options_);
  }

 private:
  LayerTable table_ = all_layers();
  Sources sources_;
  NetOptions options_;
};

i64 learning_parameters(const Net& net) {
  i64 count = 0;
  for (const auto& learnable : net.learnable())
    if (learnable.lr_mult > 0) count += learnable.blob->count();
  return count;
}

class ModelsTest : public ::testing::TestWithParam<Published> {
 protected:
  std::unique_ptr<Net> build(caffe::Phase phase) const {
    return nets_.build(std::string("models/") + GetParam().name + "/train_val.prototxt", phase, GetParam().stage);
  }

 private:
  Nets nets_;
};

TEST_P(ModelsTest, HasThePublishedParametersAndShapes) {
  const auto net = build(caffe::TRAIN);
  EXPECT_EQ(learning_parameters(*net), GetParam().parameters);
  for (const auto& [name, shape] : GetParam().shapes) {
    ASSERT_NE(net->blob(name), nullptr) << name;
    EXPECT_EQ(net->blob(name)->shape(), shape) << name;
  }
  const auto& scores = GetParam().scores;
  for (const auto& output : net->outputs())
    EXPECT_TRUE(output.loss_weight > 0 || std::find(scores.begin(), scores.end(), output.name) != scores.end())
        << output.name << " is left over";
}

TEST_P(ModelsTest, TestNetScores) {
  const auto net = build(caffe::TEST);
  std::vector<std::string> names;
  for (const auto& output : net->outputs()) names.push_back(output.name);
  EXPECT_EQ(names, std::vector<std::string>(GetParam().scores.begin(), GetParam().scores.end()));
}

TEST_P(ModelsTest, SolverNamesTheNet) {
  const std::string folder = std::string("models/") + GetParam().name;
  const std::string stage = GetParam().stage;
  caffe::SolverParameter solver;
  read_solver(folder + (stage == "digits" ? "/digits_solver.prototxt" : "/solver.prototxt"), solver);
  EXPECT_EQ(solver.net(), folder + "/train_val.prototxt");
  if (stage != "digits") return;
  EXPECT_EQ(solver.train_state().stage(0), stage);
  EXPECT_EQ(solver.test_state(0).stage(0), stage);
}

INSTANTIATE_TEST_SUITE_P(Literature, ModelsTest, ::testing::ValuesIn(published), [](const auto& of) {
  return std::string(of.param.name) + (*of.param.stage == 0 ? "" : "_") + of.param.stage;
});

struct Written {
  const char* name;
  i64 parameters;
  bool is_in_models = false;  ///< models/NAME is this script's output
};

/// Published are those of torchvision; of VGG with batch normalisation less the convolutions' biases, which do nothing.
const Written written[] = {
    {"resnet18", 11689512},         {"resnet34", 21797672},         {"resnet50", 25557032 + 64, true},
    {"resnet101", 44549160},        {"resnet152", 60192808},        {"vgg11", 132863336},
    {"vgg13", 133047848},           {"vgg16", 138357544, true},     {"vgg19", 143667240, true},
    {"vgg11_bn", 132868840 - 2752}, {"vgg13_bn", 133053736 - 2944}, {"vgg16_bn", 138365992 - 4224},
    {"vgg19_bn", 143678248 - 5504}, {"cifar10_resnet20", 272474},   {"cifar10_resnet32", 466906},
    {"cifar10_resnet44", 661338},   {"cifar10_resnet56", 855770},   {"cifar10_resnet110", 1730714},
};

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

class MakeModel : public ::testing::TestWithParam<Written> {
 protected:
  /// Writes the net to the folder.
  void make(const std::string& options = "") const {
    const std::string command = std::string("scripts/make-model ") + GetParam().name + " " + folder() + " " + options;
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  std::string folder() const { return folder_.file("net"); }
  std::string net_file() const { return folder() + "/train_val.prototxt"; }

  Nets nets_;

 private:
  TemporaryFolder folder_;
};

TEST_P(MakeModel, HasThePublishedParameters) {
  make();
  caffe::SolverParameter solver;
  read_solver(folder() + "/solver.prototxt", solver);
  EXPECT_EQ(solver.net(), net_file());
  if (GetParam().is_in_models) {  // where ModelsTest counts its parameters
    const std::string in_models = std::string("models/") + GetParam().name;
    EXPECT_EQ(text_of(net_file()), text_of(in_models + "/train_val.prototxt"));
    std::string text = text_of(folder() + "/solver.prototxt");
    text.replace(text.find(folder()), folder().size(), in_models);
    EXPECT_EQ(text, text_of(in_models + "/solver.prototxt"));
    return;
  }
  const auto net = nets_.build(net_file(), caffe::TRAIN);
  EXPECT_EQ(learning_parameters(*net), GetParam().parameters);
}

INSTANTIATE_TEST_SUITE_P(Families, MakeModel, ::testing::ValuesIn(written),
                         [](const auto& of) { return of.param.name; });

class MakeModelOptions : public MakeModel {};

TEST_P(MakeModelOptions, OtherImages) {
  make("--batch 3 --size 96 --classes 7");
  const auto net = nets_.build(net_file(), caffe::TEST);
  const bool resnet = GetParam().name[0] == 'r';
  EXPECT_EQ(net->blob("data")->shape(), (Shape{3, 3, 96, 96}));
  EXPECT_EQ(net->blob("pool5")->dim(2), resnet ? 1 : 3);
  EXPECT_EQ(net->blob(resnet ? "fc1000" : "fc8")->shape(), (Shape{3, 7}));
}

INSTANTIATE_TEST_SUITE_P(Families, MakeModelOptions, ::testing::Values(written[0], written[9]),
                         [](const auto& of) { return of.param.name; });

TEST(MakeModelData, AreReadByDataLayers) {
  const TemporaryFolder folder;
  const std::string command =
      "scripts/make-model vgg11_bn " + folder.path().string() + " --data a/train.h5,val.txt --size 128 --batch 4";
  ASSERT_EQ(std::system(command.c_str()), 0);
  caffe::NetParameter net;
  read_net(folder.file("train_val.prototxt"), net);
  const auto &train = net.layer(0), &test = net.layer(1);
  EXPECT_EQ(train.data_param().source(), "a/train.h5");
  EXPECT_EQ(test.data_param().source(), "val.txt");
  EXPECT_EQ(test.include(0).phase(), caffe::TEST);
  EXPECT_EQ(train.transform_param().crop_size(), 128u);
  EXPECT_EQ(train.data_param().batch_size(), 4u);
}

TEST(MakeModelMistakes, AreTold) {
  for (const char* arguments : {"lenet", "vgg17", "resnet18 x --batch 0", "resnet18 x --size", "vgg16 x --data one"})
    EXPECT_NE(std::system((std::string("scripts/make-model ") + arguments + " 2>/dev/null").c_str()), 0) << arguments;
}

}  // namespace
}  // namespace cortado::test::models_test
