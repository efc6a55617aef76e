// The nets of models/ are those of the literature: parameters and shapes as published. Built and shaped, never run.
#include <gtest/gtest.h>

#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/net/net.h"
#include "layers/all_layers.h"
#include "tests/support/backends.h"

namespace cortado::test {
namespace {

struct Published {
  const char* name;
  i64 parameters;  ///< statistics of BatchNorm not counted
  std::vector<std::pair<const char*, Shape>> shapes;
  std::vector<const char*> scores;  ///< outputs when testing
};

const Published published[] = {
    {"alexnet",
     60965224,
     {{"conv1", {32, 96, 55, 55}}, {"norm2", {32, 256, 27, 27}}, {"pool5", {32, 256, 6, 6}}, {"fc8", {32, 1000}}},
     {"accuracy", "loss"}},
    {"alexnet_bn",
     60965224 + 1376,  // AlexNet with a factor per convolution channel as well as a term
     {{"conv1", {32, 96, 55, 55}}, {"pool2", {32, 256, 13, 13}}, {"pool5", {32, 256, 6, 6}}, {"fc8", {32, 1000}}},
     {"accuracy", "loss"}},
    {"vgg16",
     138357544,
     {{"conv1_2", {32, 64, 224, 224}}, {"conv4_3", {32, 512, 28, 28}}, {"pool5", {32, 512, 7, 7}}, {"fc8", {32, 1000}}},
     {"accuracy", "loss"}},
    {"vgg19",
     143667240,
     {{"conv3_4", {32, 256, 56, 56}}, {"conv5_4", {32, 512, 14, 14}}, {"pool5", {32, 512, 7, 7}}, {"fc8", {32, 1000}}},
     {"accuracy", "loss"}},
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
};

/// Random numbers for millions of parameters would take most of the test's time.
void fill_with_zeros(caffe::NetParameter& net) {
  for (auto& layer : *net.mutable_layer()) {
    if (layer.has_convolution_param()) layer.mutable_convolution_param()->clear_weight_filler();
    if (layer.has_inner_product_param()) layer.mutable_inner_product_param()->clear_weight_filler();
  }
}

class ModelsTest : public ::testing::TestWithParam<Published> {
 protected:
  ModelsTest() {
    options_.group = &group_of(backend_names().back());
    options_.layers = &table_;
  }

  std::unique_ptr<Net> build(caffe::Phase phase) {
    caffe::NetParameter parameter;
    read_net(std::string("models/") + GetParam().name + "/train_val.prototxt", parameter);
    parameter.mutable_state()->set_phase(phase);
    fill_with_zeros(parameter);
    return std::make_unique<Net>(parameter, options_);
  }

 private:
  LayerTable table_ = all_layers();
  NetOptions options_;
};

TEST_P(ModelsTest, HasThePublishedParametersAndShapes) {
  const auto net = build(caffe::TRAIN);
  i64 parameters = 0;
  for (const auto& learnable : net->learnable())
    if (!learnable.statistic) parameters += learnable.blob->count();
  EXPECT_EQ(parameters, GetParam().parameters);
  for (const auto& [name, shape] : GetParam().shapes) {
    ASSERT_NE(net->blob(name), nullptr) << name;
    EXPECT_EQ(net->blob(name)->shape(), shape) << name;
  }
  for (const auto& output : net->outputs()) EXPECT_GT(output.loss_weight, 0) << output.name << " is left over";
}

TEST_P(ModelsTest, TestNetScores) {
  const auto net = build(caffe::TEST);
  std::vector<std::string> names;
  for (const auto& output : net->outputs()) names.push_back(output.name);
  EXPECT_EQ(names, std::vector<std::string>(GetParam().scores.begin(), GetParam().scores.end()));
}

TEST_P(ModelsTest, SolverNamesTheNet) {
  const std::string folder = std::string("models/") + GetParam().name;
  caffe::SolverParameter solver;
  read_solver(folder + "/solver.prototxt", solver);
  EXPECT_EQ(solver.net(), folder + "/train_val.prototxt");
}

std::string name_of(const ::testing::TestParamInfo<Published>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Literature, ModelsTest, ::testing::ValuesIn(published), name_of);

}  // namespace
}  // namespace cortado::test
