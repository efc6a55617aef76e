// Where nets give layers copies in planes, and that blocks of channels change nothing but time.
#include "core/base/layout.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/formats/prototxt.h"
#include "core/net/net.h"
#include "layers/all_layers.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::layout_test {
namespace {

std::string conv(const std::string& name, const std::string& bottom, int outputs, const std::string& more = "") {
  return "layer { name: '" + name + "' type: 'Convolution' bottom: '" + bottom + "' top: '" + name +
         "' convolution_param { num_output: " + std::to_string(outputs) +
         " weight_filler { type: 'xavier' } bias_filler { type: 'uniform' } " + more + " } }";
}

/// A block of a residual net, two branches of different channels that meet, normalisation in place, and layers that
/// take planes only: one in place, one not, one behind a split.
const std::string residual_net =
    "name: 'net' layer { name: 'data' type: 'Input' top: 'data' top: 'label' input_param { "
    "shape { dim: 3 dim: 3 dim: 13 dim: 11 } shape { dim: 3 } } }" +
    conv("c1", "data", 32, "kernel_size: 3 pad: 1") + R"(
  layer { name: 'bn' type: 'BatchNorm' bottom: 'c1' top: 'c1' }
  layer { name: 'scale' type: 'Scale' bottom: 'c1' top: 'c1' scale_param { bias_term: true } }
  layer { name: 'relu' type: 'ReLU' bottom: 'c1' top: 'c1' })" +
    conv("c2", "c1", 32, "kernel_size: 3 pad: 1") + R"(
  layer { name: 'sum' type: 'Eltwise' bottom: 'c1' bottom: 'c2' top: 'sum' }
  layer { name: 'pool' type: 'Pooling' bottom: 'sum' top: 'pool' pooling_param { kernel_size: 3 stride: 2 } })" +
    conv("c3", "pool", 16, "kernel_size: 1") + conv("c4", "pool", 12, "kernel_size: 1") + R"(
  layer { name: 'both' type: 'Concat' bottom: 'c3' bottom: 'c4' top: 'both' }
  layer { name: 'soft' type: 'Softmax' bottom: 'c3' top: 'soft' })" +
    conv("c5", "both", 16, "kernel_size: 1") + R"(
  layer { name: 'whole' type: 'Scale' bottom: 'c5' top: 'c5'
          scale_param { axis: 0 num_axes: -1 filler { type: 'constant' value: 2 } } }
  layer { name: 'meet' type: 'Eltwise' bottom: 'c5' bottom: 'soft' top: 'meet' }
  layer { name: 'ip' type: 'InnerProduct' bottom: 'meet' top: 'ip'
          inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }
  layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' })";

std::unique_ptr<Net> net_of(const std::string& backend, const LayerTable& layers, const PlanBook& plans,
                            Precision precision, const std::map<std::string, Layout>& layouts = {},
                            const std::string& text = residual_net) {
  caffe::NetParameter parameter;
  parse_text(text, "net", parameter);
  parameter.mutable_state()->set_phase(caffe::TRAIN);
  NetOptions options;
  options.group = &group_of(backend);
  options.layers = &layers;
  options.plans = plans;
  options.layouts = layouts;
  options.precision = precision;
  auto net = std::make_unique<Net>(parameter, options);
  net->inputs()[0]->write_data(noise_vector(1, net->inputs()[0]->count()).data());
  const std::vector<float> labels = {1, 4, 0};
  if (net->inputs().size() > 1) net->inputs()[1]->write_data(labels.data());
  return net;
}

PlanBook blocks() {
  PlanBook plans;
  for (const char* layer : {"c1", "c2", "c3", "c5"}) plans[std::string(layer) + "/layout"] = "nchw16c";
  return plans;
}

/// Names of the layers that the net inserted to get planes.
std::vector<std::string> reorders(const Net& net) {
  std::vector<std::string> names;
  for (const auto& entry : net.layers())
    if (entry.type == "Reorder") names.push_back(entry.layer->name());
  return names;
}

PlanBook planes() {
  PlanBook plans;
  for (const auto& [layer, layout] : blocks()) plans[layer] = "nchw";
  return plans;
}

/// Where no candidate makes blocks, asking for them is an error: tests/layers/convolution_layout_test.cpp.
class LayoutNet : public ::testing::TestWithParam<std::string> {
 protected:
  const LayerTable layers_ = all_layers();
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LayoutNet);

TEST_P(LayoutNet, CopiesStandWhereLayoutsMeetAndNowhereElse) {
  const auto net = net_of(GetParam(), layers_, blocks(), Precision::fp32);
  EXPECT_EQ(reorders(*net),
            (std::vector<std::string>{"c3_c3_0_split_0_both_nchw", "c3_c3_0_split_1_soft_nchw", "c5_whole_nchw"}));
  EXPECT_EQ(net->blob("pool")->layout(), Layout::nchw16c);
  EXPECT_EQ(net->blob("sum")->layout(), Layout::nchw16c);
  EXPECT_EQ(net->blob("both")->layout(), Layout::nchw);
  EXPECT_EQ(net->blob("meet")->layout(), Layout::nchw);
  EXPECT_EQ(net->plans().at("c1/layout"), "nchw16c");
  EXPECT_EQ(net->plans().at("c4/layout"), "nchw");
  EXPECT_TRUE(reorders(*net_of(GetParam(), layers_, planes(), Precision::fp32)).empty());
}

TEST_P(LayoutNet, LossAndGradientsAreThoseOfPlanes) {
  for (const auto precision : {Precision::fp32, Precision::bf16}) {
    if (precision == Precision::bf16 && !group_of(GetParam()).spec().bf16) continue;
    const auto one = net_of(GetParam(), layers_, planes(), precision),
               other = net_of(GetParam(), layers_, blocks(), precision);
    for (Net* net : {one.get(), other.get()}) {
      net->clear_gradients();
      net->forward();
      net->backward();
    }
    const float bound = precision == Precision::fp32 ? 1e-4F : 5e-2F;
    EXPECT_NEAR(other->loss(), one->loss(), bound);
    for (std::size_t i = 0; i < one->learnable().size(); ++i) {
      SCOPED_TRACE(one->learnable()[i].layer);
      const auto& expected = one->learnable()[i];
      if (expected.statistic) continue;
      expect_near(other->learnable()[i].blob->diff_vector(), expected.blob->diff_vector(), bound, bound);
    }
    for (const char* name : {"sum", "both", "c5", "meet"})
      expect_near(other->blob(name)->data_vector(), one->blob(name)->data_vector(), bound, bound);
  }
}

TEST_P(LayoutNet, ALayerInPlaceOnACopyKeepsTheBlobsName) {
  const std::string in_place =
      "layer { name: 'data' type: 'Input' top: 'data' input_param { "
      "shape { dim: 2 dim: 3 dim: 5 dim: 4 } } }" +
      conv("c", "data", 16, "kernel_size: 3") + R"(
      layer { name: 'relu' type: 'ReLU' bottom: 'c' top: 'c' }
      layer { name: 'planes' type: 'Scale' bottom: 'c' top: 'c'
              scale_param { axis: 0 num_axes: -1 filler { type: 'constant' value: 2 } } }
      layer { name: 'tanh' type: 'TanH' bottom: 'c' top: 'c' })";
  const auto run = [&](const char* layout) {
    auto net = net_of(GetParam(), layers_, {{"c/layout", layout}}, Precision::fp32, {}, in_place);
    net->forward();
    return net;
  };
  const auto net = run("nchw16c"), expected = run("nchw");
  EXPECT_EQ(reorders(*net), std::vector<std::string>{"c_planes_nchw"});
  EXPECT_EQ(net->blob_names(), (std::vector<std::string>{"data", "c_planes_nchw16c", "c"}));
  EXPECT_EQ(net->blob("c_planes_nchw16c")->layout(), Layout::nchw16c);
  EXPECT_EQ(net->blob("c")->layout(), Layout::nchw);
  EXPECT_EQ(net->layers()[2].bottom_names, std::vector<std::string>{"c_planes_nchw16c"}) << "the ReLU's";
  ASSERT_EQ(net->outputs().size(), 1u);
  EXPECT_EQ(net->outputs()[0].name, "c");
  EXPECT_EQ(net->outputs()[0].blob, net->blob("c"));
  expect_near(net->blob("c")->data_vector(), expected->blob("c")->data_vector(), 1e-5F, 1e-5F);
}

TEST_P(LayoutNet, SqueezeAndExcitationStaysInBlocks) {
  const std::string text =
      "layer { name: 'data' type: 'Input' top: 'data' input_param { "
      "shape { dim: 2 dim: 3 dim: 5 dim: 4 } } }" +
      conv("c", "data", 16, "kernel_size: 3") + R"(
      layer { name: 'squeeze' type: 'Pooling' bottom: 'c' top: 'squeeze' pooling_param { pool: AVE global_pooling: true } }
      layer { name: 'excite' type: 'InnerProduct' bottom: 'squeeze' top: 'excite'
              inner_product_param { num_output: 16 weight_filler { type: 'xavier' } } }
      layer { name: 'scale' type: 'Scale' bottom: 'c' bottom: 'excite' top: 'scale' scale_param { axis: 0 } })";
  const auto run = [&](const char* layout) {
    auto net = net_of(GetParam(), layers_, {{"c/layout", layout}}, Precision::fp32, {}, text);
    net->forward();
    return net;
  };
  const auto net = run("nchw16c"), expected = run("nchw");
  EXPECT_TRUE(reorders(*net).empty());
  EXPECT_EQ(net->blob("scale")->layout(), Layout::nchw16c);
  expect_near(net->blob("scale")->data_vector(), expected->blob("scale")->data_vector(), 1e-5F, 1e-5F);
}

TEST_P(LayoutNet, PoolingOfWideImagesGetsPlanes) {
  const i64 width = group_of(GetParam()).spec().scratch_bytes / 100;  // rows of sixteen channels that do not fit
  for (const char* pool : {"kernel_size: 2 stride: 2", "pool: AVE global_pooling: true"}) {
    const std::string text =
        "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 3 "
        "dim: 2 dim: " +
        std::to_string(width) + " } } }" + conv("c", "data", 16, "kernel_size: 1") +
        "layer { name: 'pool' type: 'Pooling' bottom: 'c' top: 'pool' pooling_param { " + pool + " } }";
    const auto net = net_of(GetParam(), layers_, {{"c/layout", "nchw16c"}}, Precision::fp32, {}, text),
               expected = net_of(GetParam(), layers_, {{"c/layout", "nchw"}}, Precision::fp32, {}, text);
    EXPECT_EQ(reorders(*net), std::vector<std::string>{"c_pool_nchw"});
    net->forward();
    expected->forward();
    expect_near(net->blob("pool")->data_vector(), expected->blob("pool")->data_vector(), 1e-5F, 1e-5F);
  }
}

TEST_P(LayoutNet, LargeKernelsGetPlanes) {
  for (const int groups : {1, 16}) {
    SCOPED_TRACE(groups);
    const std::string window = "kernel_size: 24 pad: 11 group: " + std::to_string(groups);
    const std::string text =
        "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 3 dim: 2 dim: 2 } } }" +
        conv("a", "data", 16, "kernel_size: 1") + conv("c", "a", 16, window) +
        "layer { name: 'loss' type: 'Reduction' bottom: 'c' top: 'loss' loss_weight: 1 }";
    const auto run = [&](const PlanBook& plans) {
      auto net = net_of(GetParam(), layers_, plans, Precision::fp32, {}, text);
      net->clear_gradients();
      net->forward();
      net->backward();
      return net;
    };
    const auto net = run({{"a/layout", "nchw16c"}}), expected = run({{"a/layout", "nchw"}, {"c/layout", "nchw"}});
    expect_near(net->blob("c")->data_vector(), expected->blob("c")->data_vector(), 1e-4F, 1e-4F);
    expect_near(net->layer("a")->blobs()[0]->diff_vector(), expected->layer("a")->blobs()[0]->diff_vector(), 1e-2F,
                1e-3F);
  }
}

TEST_P(LayoutNet, WhatTuningFoundIsFollowedAndStays) {
  const auto net = net_of(GetParam(), layers_, {{"c2/layout", "nchw16c"}}, Precision::fp32,
                          {{"mb3c32h13w11", Layout::nchw}, {"mb3c16h6w5", Layout::nchw16c}});
  const auto layout_of = [&](const char* layer) { return net->plans().at(std::string(layer) + "/layout"); };
  EXPECT_EQ(layout_of("c1"), "nchw");
  EXPECT_EQ(layout_of("c2"), "nchw16c") << "what was asked for wins";
  EXPECT_EQ(layout_of("c3"), "nchw16c");
  net->use_plans({{"c1/layout", "nchw16c"}, {"c3/layout", "nchw"}, {"c3/forward", "direct"}});
  EXPECT_EQ(layout_of("c1"), "nchw");
  EXPECT_EQ(layout_of("c3"), "nchw16c");
  net->forward();
}

TEST_P(LayoutNet, CandidatesThatTakePlanesAreGivenPlanes) {
  PlanBook plans = blocks();
  plans["c3/forward"] = "implicit";
  EXPECT_THROW(net_of(GetParam(), layers_, plans, Precision::fp32), PlanError) << "asked for both";
  plans.erase("c3/layout");
  const auto net = net_of(GetParam(), layers_, plans, Precision::fp32);
  const auto names = reorders(*net);
  EXPECT_EQ(std::count(names.begin(), names.end(), "pool_pool_0_split_0_c3_nchw"), 1);
  EXPECT_EQ(net->plans().at("c3/layout"), "nchw");
}

TEST(Reorder, OfPlanesIsAnError) {
  caffe::NetParameter parameter;
  parse_text(
      "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 16 dim: 2 dim: 2 } } } "
      "layer { name: 'r' type: 'Reorder' bottom: 'data' top: 'r' }",
      "net", parameter);
  const LayerTable layers = all_layers();
  NetOptions options;
  options.group = &group_of(backend_names().front());
  options.layers = &layers;
  EXPECT_THROW(Net(parameter, options), ConfigError);
}

INSTANTIATE_TEST_SUITE_P(Backends, LayoutNet, block_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::layout_test
