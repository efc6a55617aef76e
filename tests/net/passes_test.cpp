// Every pass is switched off alone, and all that can be together: losses and gradients stay what they are.
#include "core/net/passes/passes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "core/formats/prototxt.h"
#include "layers/all_layers.h"
#include "tests/net/small_net.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::passes_test {
namespace {

std::string conv(const std::string& name, const std::string& bottom, const std::string& window, int outputs = 32) {
  return "layer { name: '" + name + "' type: 'Convolution' bottom: '" + bottom + "' top: '" + name +
         "' convolution_param { num_output: " + std::to_string(outputs) + " weight_filler { type: 'xavier' } " +
         window + " } }";
}

std::string in_place(const std::string& name, const std::string& blob, const std::string& type) {
  return "layer { name: '" + name + "' bottom: '" + blob + "' top: '" + blob + "' " + type + " }";
}

/// A convolution, normalised, whose result is added to `bottom`.
std::string block(const std::string& name, const std::string& bottom, const std::string& relu) {
  const std::string main = name + "_main";
  return conv(main, bottom, "kernel_size: 3 pad: 1 bias_term: false") +
         in_place(name + "_bn", main, "type: 'BatchNorm'") +
         in_place(name + "_scale", main, "type: 'Scale' scale_param { bias_term: true filler { value: 0.5 } }") +
         "layer { name: '" + name + "' type: 'Eltwise' bottom: '" + bottom + "' bottom: '" + main + "' top: '" + name +
         "' }" + in_place(name + "_relu", name, relu);
}

/// Something for every pass: two phases, residual blocks, convolutions that share pixels, a layer that takes planes, a
/// branch that reaches no loss, layers that run again.
const std::string text =
    "layer { name: 'data' type: 'Input' top: 'data' top: 'label' input_param { shape { dim: 3 dim: 3 dim: 9 dim: 11 } "
    "shape { dim: 3 } } }" +
    conv("c", "data", "kernel_size: 3 pad: 1 bias_filler { type: 'uniform' }") + in_place("relu", "c", "type: 'ReLU'") +
    block("b1", "c", "type: 'ReLU'") + block("b2", "b1", "type: 'ReLU' relu_param { negative_slope: 0.25 }") +
    conv("left", "b2", "kernel_size: 1 stride: 2") + conv("right", "b2", "kernel_size: 1 stride: 2") + R"(
    layer { name: 'sum' type: 'Eltwise' bottom: 'left' bottom: 'right' top: 'sum' recompute: true }
    layer { name: 'sigmoid' type: 'Sigmoid' bottom: 'sum' top: 'sigmoid' recompute: true }
    layer { name: 'ip' type: 'InnerProduct' bottom: 'sigmoid' top: 'ip'
            inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }
    layer { name: 'accuracy' type: 'Accuracy' bottom: 'ip' bottom: 'label' top: 'accuracy' }
    layer { name: 'tested' type: 'Silence' bottom: 'ip' include { phase: TEST } }
    layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' })";

std::set<std::string> all_optional() {
  std::set<std::string> names;
  for (const Pass& pass : net_passes())
    if (pass.needed == nullptr) names.insert(pass.name);
  return names;
}

struct Results {
  double loss = 0;
  std::vector<std::vector<float>> gradients;  ///< of parameters; statistics themselves
  std::vector<Net::PassReport> reports;
  bool has_blocks = false;  ///< a convolution makes blocks of channels by itself
};

class NetPasses : public ::testing::TestWithParam<std::string> {
 protected:
  const LayerTable layers_ = all_layers();

  Results run(const std::set<std::string>& without, Precision precision = Precision::fp32,
              const std::string& of = text) const {
    NetOptions options;
    options.group = &group_of(GetParam());
    options.layers = &layers_;
    options.only_trains = true;
    options.precision = precision;
    options.without = without;
    Net net(net_parameter(of), options);
    Results results;
    for (int pass = 0; pass < 2; ++pass) {  // gradients of the first, wherever they lie, must not reach the second's
      net.inputs()[0]->write_data(noise_vector(static_cast<std::uint64_t>(pass), net.inputs()[0]->count()).data());
      net.inputs()[1]->write_data(std::vector<float>{1, 4, 0}.data());
      net.clear_gradients();
      net.forward();
      net.backward();
    }
    results.loss = net.loss();
    for (const auto& p : net.learnable())
      results.gradients.push_back(p.statistic ? p.blob->data_vector() : p.blob->diff_vector());
    results.reports = net.passes();
    results.has_blocks = net.plans().at("c/layout") == to_string(Layout::nchw16c);
    return results;
  }

  /// Scores a net with fixed maps, without them, and without all passes.
  void expect_same_scores(const std::string& scored) const {
    std::vector<std::vector<float>> outputs;
    std::size_t did = 0;
    for (const std::set<std::string>& without : {std::set<std::string>{}, {"fixed_maps"}, all_optional()}) {
      NetOptions options;
      options.group = &group_of(GetParam());
      options.layers = &layers_;
      options.only_scores = true;
      options.without = without;
      caffe::NetParameter parameter = net_parameter(scored);
      parameter.mutable_state()->set_phase(caffe::TEST);
      Net net(parameter, options);
      for (const auto& p : net.learnable())
        if (p.statistic) {  // running sums of means, of variances and of their weight
          std::vector<float> values = noise_vector(17, p.blob->count());
          for (float& value : values) value = p.blob->count() == 1 ? 2 : 0.5F + value * value;
          p.blob->write_data(values.data());
        }
      net.inputs()[0]->write_data(noise_vector(3, net.inputs()[0]->count()).data());
      net.inputs()[1]->write_data(std::vector<float>{1, 4, 0}.data());
      for (int version = 0; version < 3; ++version) {  // made anew, made once, kept
        net.run().parameter_version = version > 0 ? 1 : 0;
        net.forward();
      }
      outputs.push_back(net.blob("ip")->data_vector());
      for (const auto& report : net.passes())
        if (report.pass == "fixed_maps" && without.empty()) did = report.did.size();
    }
    EXPECT_EQ(did, 2u);
    expect_near(outputs[1], outputs[0], 2e-5F, 1e-4F);
    expect_near(outputs[2], outputs[0], 2e-5F, 1e-4F);
  }
};

void expect_same(const Results& one, const Results& other, bool to_the_bit) {
  ASSERT_EQ(one.gradients.size(), other.gradients.size());
  if (to_the_bit) {
    EXPECT_EQ(one.loss, other.loss);
    EXPECT_EQ(one.gradients, other.gradients);
    return;
  }
  EXPECT_NEAR(one.loss, other.loss, 1e-5);
  for (std::size_t i = 0; i < one.gradients.size(); ++i)
    expect_near(one.gradients[i], other.gradients[i], 2e-5F, 1e-4F);
}

TEST_P(NetPasses, EachFindsWorkInTheNet) {
  const Results results = run({});
  for (const auto& report : results.reports) {
    const bool idle =
        report.pass == "casts" || report.pass == "fixed_maps" || (report.pass == "layouts" && !results.has_blocks);
    EXPECT_EQ(report.did.empty(), idle) << report.pass;
    EXPECT_FALSE(report.is_off);
  }
}

TEST_P(NetPasses, WithoutAnyOneLossAndGradientsAreTheSame) {
  const Results with = run({});
  for (const Pass& pass : net_passes()) {
    SCOPED_TRACE(pass.name);
    if (pass.needed != nullptr) continue;
    const Results without = run({pass.name});
    for (const auto& report : without.reports) {
      EXPECT_EQ(report.is_off, report.pass == pass.name);
      EXPECT_TRUE(!report.is_off || report.did.empty());
    }
    expect_same(without, with, pass.keeps_bits);
  }
}

TEST_P(NetPasses, WithoutAllLossAndGradientsAreTheSame) { expect_same(run(all_optional()), run({}), false); }

/// In planes and in blocks, with more readers than one pass adds at once.
TEST_P(NetPasses, ConcatsAddTheGradientsOfAllReaders) {
  const std::string pixels = "kernel_size: 1";
  for (const int width : {32, 5})
    for (int readers = 2; readers <= 8; ++readers) {
      SCOPED_TRACE(std::to_string(readers) + " readers, " + std::to_string(width) + " channels");
      std::string of = text.substr(0, text.find("layer { name: 'c'")) + conv("c", "data", pixels, width) +
                       conv("d", "data", pixels, 16) +
                       "layer { name: 'cat' type: 'Concat' bottom: 'c' bottom: 'data' bottom: 'd' top: 'cat' }" +
                       "layer { name: 'b2' type: 'Eltwise' top: 'b2' ";
      std::string branches;
      for (int i = 0; i < readers; ++i) {
        const std::string name = "r" + std::to_string(i);
        branches += conv(name, "cat", pixels);
        of += "bottom: '" + name + "' ";
      }
      of.insert(of.find("layer { name: 'b2'"), branches);
      of += "}" + text.substr(text.find("layer { name: 'left'"));
      const Results with = run({}, Precision::fp32, of);
      for (const auto& report : with.reports)
        EXPECT_TRUE(report.pass != "gradient_sums" || !report.did.empty()) << report.pass;
      expect_same(run({"gradient_sums"}, Precision::fp32, of), with, true);
    }
}

/// A net that only scores, whose convolutions apply the BatchNorm behind them, one of them behind a bias of its own;
/// and one in which a convolution and a BatchNorm are clipped.
TEST_P(NetPasses, ScoringIsTheSameWithoutFixedMaps) {
  std::string plain = text;
  const std::string no_bias = "bias_term: false", relu = "type: 'ReLU'",
                    clip = "type: 'Clip' clip_param { min: 0 max: 0.5 }";
  plain.replace(plain.find(no_bias), no_bias.size(), "bias_filler { type: 'uniform' }");
  std::string clipped = plain;
  clipped.replace(clipped.find(relu), relu.size(), clip);
  clipped.insert(clipped.find("layer { name: 'b1' type"), in_place("b1_clip", "b1_main", clip));
  for (const std::string& scored : {plain, clipped}) expect_same_scores(scored);
}

TEST_P(NetPasses, SomeAreNeeded) {
  for (const Pass& pass : net_passes()) {
    if (pass.needed == nullptr) continue;
    try {
      run({pass.name});
      ADD_FAILURE() << pass.name;
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find(pass.needed), std::string::npos) << error.what();
    }
  }
}

TEST_P(NetPasses, OthersAreNone) {
  try {
    run({"pruning", "prunning"});
    ADD_FAILURE();
  } catch (const ConfigError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("'prunning'"), std::string::npos) << what;
    for (const auto& name : all_optional()) EXPECT_NE(what.find(name), std::string::npos) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, NetPasses, all_backends(), backend_name);

class Bf16NetPasses : public NetPasses {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Bf16NetPasses);

double norm(const std::vector<float>& values) {
  double sum = 0;
  for (const float v : values) sum += double{v} * double{v};
  return std::sqrt(sum);
}

/// What is not stored is not rounded: results stay as near to those in float.
TEST_P(Bf16NetPasses, WithoutAnyOneLossAndGradientsAreNearThoseInFloat) {
  const Results exact = run({});
  std::vector<std::set<std::string>> choices = {{}, all_optional()};
  for (const std::string& name : all_optional()) choices.push_back({name});
  for (const auto& without : choices) {
    SCOPED_TRACE(without.empty() ? "all" : *without.begin());
    const Results rounded = run(without, Precision::bf16);
    EXPECT_FALSE(rounded.reports[1].did.empty()) << "casts";
    EXPECT_NEAR(rounded.loss, exact.loss, 2e-2);
    ASSERT_EQ(rounded.gradients.size(), exact.gradients.size());
    for (std::size_t i = 0; i < exact.gradients.size(); ++i) {
      std::vector<float> difference = rounded.gradients[i];
      for (std::size_t k = 0; k < difference.size(); ++k) difference[k] -= exact.gradients[i][k];
      EXPECT_LT(norm(difference), 0.2 * norm(exact.gradients[i]) + 1e-3) << "array " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Bf16NetPasses, bf16_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::passes_test
