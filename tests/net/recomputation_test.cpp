// Values that are made again for backward: losses, gradients and weights stay what they are, to the bit.
#include "core/net/recomputation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>

#include "app/measure/dry_group.h"
#include "core/base/error.h"
#include "core/formats/prototxt.h"
#include "core/net/recomputation_choice.h"
#include "layers/all_layers.h"
#include "tests/net/small_net.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::recomputation_test {
namespace {

std::string layer(const std::string& name, const std::string& bottoms, const std::string& top,
                  const std::string& more) {
  std::string text = "layer { name: '" + name + "' top: '" + top + "' " + more;
  std::istringstream words(bottoms);
  for (std::string word; words >> word;) text += " bottom: '" + word + "'";
  return text + " }\n";
}

std::string conv(const std::string& name, const std::string& bottom, const std::string& more = "") {
  return layer(name, bottom, name,
               "type: 'Convolution' convolution_param { num_output: 32 kernel_size: 3 pad: 1 bias_term: false "
               "weight_filler { type: 'xavier' } } " +
                   more);
}

std::string in_place(const std::string& name, const std::string& blob, const std::string& more) {
  return layer(name, blob, blob, more);
}

/// BatchNorm, Scale and ReLU in place.
std::string normalised(const std::string& blob) {
  return in_place(blob + "_bn", blob, "type: 'BatchNorm'") +
         in_place(blob + "_scale", blob, "type: 'Scale' scale_param { bias_term: true filler { value: 0.5 } }") +
         in_place(blob + "_relu", blob, "type: 'ReLU'");
}

/// A layer's text with `recompute`.
std::string again(const std::string& layers) {
  std::string text;
  std::istringstream lines(layers);
  for (std::string line; std::getline(lines, line);) {
    line.insert(line.rfind('}'), "recompute: true ");
    text += line + "\n";
  }
  return text;
}

using Mark = std::function<std::string(const std::string&)>;

/// Residual sums, two kinds of pooling, dropout in place, an LRN, a concatenation, a layer that takes planes, a
/// normalised blob that two layers read, and a layer in place behind a layer that does not do its work.
std::string net_text(const Mark& mark) {
  const std::string start =
      "layer { name: 'data' type: 'Input' top: 'data' top: 'label' input_param { shape { dim: 2 dim: 3 dim: 7 dim: 8 "
      "} shape { dim: 2 } } }\n";
  const std::string stem = conv("c1", "data") + normalised("c1") +
                           layer("p1", "c1", "p1", "type: 'Pooling' pooling_param { kernel_size: 3 stride: 2 }");
  const std::string block = conv("a1", "p1") + normalised("a1") + conv("a2", "a1") +
                            in_place("a2_bn", "a2", "type: 'BatchNorm'") +
                            in_place("a2_scale", "a2", "type: 'Scale' scale_param { bias_term: true }");
  const std::string sum = layer("a", "p1 a2", "a", "type: 'Eltwise'") + in_place("a_relu", "a", "type: 'ReLU'");
  const std::string branches =
      conv("b1", "a") + normalised("b1") + in_place("b1_drop", "b1", "type: 'Dropout'") + conv("b2", "b1") +
      layer("b3", "a", "b3", "type: 'Pooling' pooling_param { pool: STOCHASTIC kernel_size: 1 }") +
      layer("norm", "b3", "norm", "type: 'LRN'") + layer("sig", "norm", "sig", "type: 'Sigmoid'");
  const std::string both = layer("both", "b2 sig", "both", "type: 'Concat'");
  const std::string tail = conv("d", "both") + normalised("d") + layer("left", "d", "left", "type: 'TanH'") +
                           layer("max", "left d", "max", "type: 'Eltwise' eltwise_param { operation: MAX }");
  const std::string end =
      layer("mean", "max", "mean", "type: 'Pooling' pooling_param { pool: AVE global_pooling: true }") +
      layer("ip", "mean", "ip",
            "type: 'InnerProduct' inner_product_param { num_output: 5 weight_filler { type: 'xavier' } }") +
      layer("accuracy", "ip label", "accuracy", "type: 'Accuracy'") +
      layer("loss", "ip label", "loss", "type: 'SoftmaxWithLoss'");
  return start + mark(stem) + mark(block) + sum + mark(branches) + both + mark(tail) + end;
}

const Mark plain = [](const std::string& layers) { return layers; };

struct Results {
  std::vector<double> losses;
  std::vector<std::vector<float>> values;  ///< gradients and statistics, pass by pass
  std::size_t segments = 0;
};

NetOptions options_on(CoreGroup& group, const LayerTable& layers, Precision precision) {
  NetOptions options;
  options.group = &group;
  options.layers = &layers;
  options.only_trains = true;
  options.precision = precision;
  return options;
}

class Recomputed : public ::testing::TestWithParam<std::string> {
 protected:
  const LayerTable layers_ = all_layers();

  NetOptions options(Precision precision = Precision::fp32) const {
    return options_on(group_of(GetParam()), layers_, precision);
  }

  static Results run(const std::string& text, const NetOptions& options) {
    Net net(net_parameter(text), options);
    Results results;
    results.segments = net.recomputed().size();
    for (int pass = 0; pass < 3; ++pass) {
      net.run().pass = pass;
      net.inputs()[0]->write_data(noise_vector(static_cast<std::uint64_t>(pass), net.inputs()[0]->count()).data());
      net.inputs()[1]->write_data(std::vector<float>{1, 4}.data());
      net.forward();
      net.clear_gradients();
      net.backward();
      results.losses.push_back(net.loss());
      for (const auto& p : net.learnable())
        results.values.push_back(p.statistic ? p.blob->data_vector() : p.blob->diff_vector());
      for (const auto& p : net.learnable()) {  // an update
        if (p.statistic) continue;
        auto values = p.blob->data_vector();
        const auto gradients = p.blob->diff_vector();
        for (std::size_t i = 0; i < values.size(); ++i) values[i] -= 0.1F * gradients[i];
        p.blob->write_data(values.data());
      }
    }
    return results;
  }

  static void expect_equal(const Results& one, const Results& other) {
    EXPECT_EQ(one.losses, other.losses);
    ASSERT_EQ(one.values.size(), other.values.size());
    for (std::size_t i = 0; i < one.values.size(); ++i) EXPECT_EQ(one.values[i], other.values[i]) << "array " << i;
  }
};

TEST_P(Recomputed, SegmentsOfTheTextGiveTheSameBits) {
  const Results without = run(net_text(plain), options()), with = run(net_text(again), options());
  EXPECT_EQ(without.segments, 0U);
  EXPECT_EQ(with.segments, 3U);
  expect_equal(with, without);
}

/// Also where layers in place do their own work, and where none of the other passes runs.
TEST_P(Recomputed, WithoutFusionTheBitsAreTheSameToo) {
  NetOptions unfused = options();
  unfused.without = {"epilogues",     "channel_sums",   "residual_sums",
                     "gradient_sums", "gradient_joins", "gradient_memory"};
  const Results with = run(net_text(again), unfused);
  EXPECT_GT(with.segments, 1U);
  expect_equal(with, run(net_text(plain), unfused));
}

TEST_P(Recomputed, ChoicesGiveTheSameBits) {
  const Results without = run(net_text(plain), options());
  const auto choices = recomputation_choices(Net(net_parameter(net_text(plain)), options()));
  ASSERT_GT(choices.size(), 2U);
  for (std::size_t i = 0; i < choices.size(); i += 3) {
    const RecomputationChoice& choice = i + 3 < choices.size() ? choices[i] : choices.back();
    SCOPED_TRACE(choice.saved);
    NetOptions with = options();
    with.recomputed = choice.segments;
    const Results results = run(net_text(plain), with);
    EXPECT_EQ(results.segments, choice.segments.size());
    expect_equal(results, without);
  }
}

/// What a choice promises is what a net saves.
TEST_P(Recomputed, EveryChoiceSavesWhatItSays) {
  const auto peak = [&](const std::vector<Segment>& segments) {
    DryGroup dry(group_of(GetParam()));
    NetOptions with = options_on(dry, layers_, Precision::fp32);
    with.recomputed = segments;
    Net net(net_parameter(net_text(plain)), with);
    for (int pass = 0; pass < 2; ++pass) {
      net.forward();
      net.clear_gradients();
      net.backward();
    }
    return dry.peak();
  };
  const i64 all = peak({});
  for (const auto& choice : recomputation_choices(Net(net_parameter(net_text(plain)), options())))
    EXPECT_NEAR(static_cast<double>(peak(choice.segments)), static_cast<double>(all - choice.saved), 4096.0)
        << choice.saved << " of " << all;
}

TEST_P(Recomputed, TheFirstLayerThatIsNotFiniteIsFound) {
  Net net(net_parameter(net_text(again)), options());
  auto images = noise_vector(1, net.inputs()[0]->count());
  net.inputs()[0]->write_data(images.data());
  net.inputs()[1]->write_data(std::vector<float>{1, 4}.data());
  net.forward();
  net.clear_gradients();
  net.backward();
  EXPECT_EQ(net.first_not_finite(), "");
  const auto& weights = *std::find_if(net.learnable().begin(), net.learnable().end(),
                                      [](const auto& p) { return p.layer == "b1_scale"; });
  weights.blob->write_data(std::vector<float>(32, NAN).data());
  net.forward();
  net.clear_gradients();
  net.backward();
  EXPECT_EQ(net.first_not_finite().substr(0, 2), "b1");
}

TEST_P(Recomputed, ImagesMayGrow) {
  const auto gradients_of = [&](const Mark& mark) {
    Net net(net_parameter(net_text(mark)), options());
    std::vector<std::vector<float>> gradients;
    for (const i64 size : {7, 10, 6}) {
      net.inputs()[0]->reshape({2, 3, size, 8});
      net.inputs()[0]->write_data(noise_vector(7, net.inputs()[0]->count()).data());
      net.inputs()[1]->write_data(std::vector<float>{1, 4}.data());
      net.forward();
      net.clear_gradients();
      net.backward();
      for (const auto& p : net.learnable()) gradients.push_back(p.blob->diff_vector());
    }
    return gradients;
  };
  EXPECT_EQ(gradients_of(again), gradients_of(plain));
}

TEST_P(Recomputed, OnlyWhereANetTrains) {
  NetOptions tests = options();
  tests.only_trains = false;
  EXPECT_TRUE(Net(net_parameter(net_text(again)), tests).recomputed().empty());
  EXPECT_TRUE(Net(net_parameter(net_text(again), caffe::TEST), options()).recomputed().empty());
  NetOptions off = options();
  off.without = {"recomputation"};
  EXPECT_TRUE(Net(net_parameter(net_text(again)), off).recomputed().empty());
}

INSTANTIATE_TEST_SUITE_P(Backends, Recomputed, all_backends(), backend_name);

class Bf16Recomputed : public Recomputed {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Bf16Recomputed);

TEST_P(Bf16Recomputed, SegmentsGiveTheSameBits) {
  const Results with = run(net_text(again), options(Precision::bf16));
  EXPECT_GT(with.segments, 1U);
  expect_equal(with, run(net_text(plain), options(Precision::bf16)));
}

INSTANTIATE_TEST_SUITE_P(Backends, Bf16Recomputed, bf16_backends(), backend_name);

/// The message of the error of a net on the reference backend.
std::string error_of(const std::string& text) {
  const LayerTable layers = all_layers();
  try {
    const Net net(net_parameter(text), options_on(group_of("reference"), layers, Precision::fp32));
  } catch (const Error& error) { return error.what(); }
  return "none";
}

TEST(RecomputationErrors, NameTheLayer) {
  const std::string data =
      "layer { name: 'data' type: 'Input' top: 'data' top: 'label' input_param { shape { dim: 2 dim: 3 } shape { dim: "
      "2 } } }\n";
  const std::string ip = layer("ip", "data", "ip",
                               "type: 'InnerProduct' inner_product_param { num_output: 4 weight_filler { type: "
                               "'xavier' } }"),
                    tanh = layer("tanh", "ip", "tanh", "type: 'TanH'"),
                    drop = in_place("drop", "tanh", "type: 'Dropout'"),
                    loss = layer("loss", "tanh label", "loss", "type: 'SoftmaxWithLoss'");
  EXPECT_EQ(error_of(data + ip + tanh + drop + again(loss)).substr(0, 12), "layer 'loss'");
  const std::string from_data = error_of(again(data) + ip + tanh + loss);
  EXPECT_EQ(from_data.substr(0, 12), "layer 'data'") << from_data;
  const std::string alone = error_of(data + ip + tanh + again(drop) + loss);
  EXPECT_EQ(alone.substr(0, 12), "layer 'drop'") << alone;
  EXPECT_NE(alone.find("'tanh' makes without"), std::string::npos) << alone;
  EXPECT_EQ(error_of(data + again(ip + tanh) + drop + loss), "none") << "drop goes with tanh";
}

TEST(RecomputationErrors, LayersWithStatesRunOnce) {
  const std::string text =
      "layer { name: 'data' type: 'Input' top: 'x' top: 'cont' input_param { shape { dim: 2 dim: 3 dim: 4 } shape { "
      "dim: 2 dim: 3 } } }\n";
  const std::string lstm =
      layer("lstm", "x cont", "h", "type: 'LSTM' recurrent_param { num_output: 3 weight_filler { type: 'xavier' } }");
  const std::string error = error_of(text + again(lstm) + layer("sum", "h", "sum", "type: 'Reduction' loss_weight: 1"));
  EXPECT_EQ(error.substr(0, 12), "layer 'lstm'") << error;
  EXPECT_NE(error.find("states"), std::string::npos) << error;
}

}  // namespace
}  // namespace cortado::test::recomputation_test
