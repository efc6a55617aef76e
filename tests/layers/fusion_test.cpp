// Layers that take over what follows them in place (Layer::accept) against the same layers with tops of their own,
// which are never taken over.
#include <gtest/gtest.h>

#include "tests/support/layer_rig.h"
#include "tests/support/real_nets.h"

namespace cortado::test::fusion_test {
namespace {

constexpr const char* batch_norm = "type: 'BatchNorm'";
constexpr const char* global_batch_norm = "type: 'BatchNorm' batch_norm_param { use_global_stats: true }";
constexpr const char* scale =
    "type: 'Scale' scale_param { bias_term: true filler { type: 'uniform' min: 0.5 max: 2 } "
    "bias_filler { type: 'uniform' min: -1 max: 1 } }";
constexpr const char* plain_scale = "type: 'Scale' scale_param { filler { type: 'uniform' min: -1 max: 1 } }";
constexpr const char* frozen_scale =
    "type: 'Scale' param { lr_mult: 0 } param { lr_mult: 1 } scale_param { bias_term: true "
    "filler { type: 'uniform' min: 0.5 max: 2 } }";
constexpr const char* nothing =  // a Clip's gradient passes at 0, a ReLU's does not
    "type: 'Scale' scale_param { bias_term: true filler { type: 'constant' value: 0 } }";
constexpr const char* wide_scale = "type: 'Scale' scale_param { axis: 0 num_axes: 2 }";
constexpr const char* relu = "type: 'ReLU'";
constexpr const char* relu6 = "type: 'ReLU6'";
constexpr const char* clip = "type: 'Clip' clip_param { min: 0 max: 0.5 }";
constexpr const char* two_sided_clip = "type: 'Clip' clip_param { min: -0.5 max: 0.5 }";
constexpr const char* leaky_relu = "type: 'ReLU' relu_param { negative_slope: 0.1 }";
constexpr const char* convolution =
    "type: 'Convolution' convolution_param { num_output: CHANNELS kernel_size: 3 pad: 1 "
    "weight_filler { type: 'xavier' } bias_filler { type: 'uniform' } }";
constexpr const char* no_bias =
    "type: 'Convolution' convolution_param { num_output: CHANNELS kernel_size: 1 bias_term: false "
    "weight_filler { type: 'xavier' } }";
constexpr const char* three_by_three =
    "type: 'Convolution' convolution_param { num_output: CHANNELS kernel_size: 3 pad: 1 bias_term: false "
    "weight_filler { type: 'xavier' } }";
constexpr const char* raised =
    "type: 'Convolution' convolution_param { num_output: CHANNELS kernel_size: 1 bias_term: false "
    "weight_filler { type: 'uniform' min: 3 max: 3.01 } }";  // outputs far from zero
constexpr const char* sum = "type: 'Eltwise' bottom: 'other'";
constexpr const char* weighted_sum = "type: 'Eltwise' bottom: 'other' eltwise_param { coeff: 0.5 coeff: -2 }";
constexpr const char* product = "type: 'Eltwise' bottom: 'other' eltwise_param { operation: PROD }";

struct Chain {
  const char* name;
  std::vector<const char*> layers;
  std::size_t absorbed;
};

std::vector<Chain> chains() {
  return {{"all", {batch_norm, scale, relu}, 2},
          {"leaky", {batch_norm, scale, leaky_relu}, 2},
          {"relu6", {batch_norm, scale, relu6}, 2},
          {"clip", {batch_norm, clip}, 1},
          {"clip_without_values", {batch_norm, nothing, clip}, 2},
          {"two_sided_clip", {batch_norm, two_sided_clip}, 0},
          {"no_bias", {batch_norm, plain_scale, relu}, 2},
          {"frozen_scale", {batch_norm, frozen_scale, relu}, 2},
          {"no_relu", {batch_norm, scale}, 1},
          {"no_scale", {batch_norm, relu}, 1},
          {"two_relus", {batch_norm, relu, leaky_relu}, 1},
          {"global", {global_batch_norm, scale, relu}, 2},
          {"wide_scale", {batch_norm, wide_scale, relu}, 0},
          {"sum", {sum, relu}, 1},
          {"clipped_sum", {sum, clip}, 0},
          {"weighted_sum", {weighted_sum, leaky_relu}, 1},
          {"product", {product, relu}, 0},
          {"convolution", {convolution, relu}, 1},
          {"clipped_convolution", {convolution, clip}, 0},
          {"leaky_convolution", {convolution, leaky_relu, relu}, 1},
          {"convolution_without_bias", {no_bias, relu}, 0},
          {"convolution_and_batch_norm", {no_bias, batch_norm, scale, relu}, 2},
          {"three_by_three_and_batch_norm", {three_by_three, batch_norm, relu}, 1},
          {"raised_and_batch_norm", {raised, batch_norm, scale}, 1},
          {"convolution_and_clipped_batch_norm", {no_bias, batch_norm, scale, clip}, 2},
          {"convolution_and_global_batch_norm", {no_bias, global_batch_norm, scale, relu}, 2},
          {"join", {batch_norm, scale, sum, relu}, 2}};
}

/// The chain above two inputs; in place, or every layer with a top of its own.
std::string net_text(const Chain& chain, const std::string& shape, bool in_place) {
  std::string text = "force_backward: true ";
  for (const std::string name : {"data", "other"})
    text += "layer { name: '" + name + "' type: 'Input' top: '" + name + "' input_param { shape { " + shape + " } } }";
  std::string top = "data";
  for (std::size_t i = 0; i < chain.layers.size(); ++i) {
    const std::string number = std::to_string(i), type = chain.layers[i];
    const bool joins = type.find("Eltwise") != std::string::npos;
    const std::string next = in_place && i > 0 && !joins ? top : "top" + number;
    text += "layer { name: 'layer" + number + "' bottom: '" + top + "' top: '" + next + "' " + type + " }";
    top = next;
  }
  // The product gives every element a gradient of its own.
  return text + "layer { name: 'last' type: 'Eltwise' bottom: '" + top +
         "' bottom: 'other' top: 'last' loss_weight: 0.75 eltwise_param { operation: PROD } }";
}

struct Results {
  std::vector<std::vector<float>> values;
  std::size_t absorbed = 0, added_up = 0, joined = 0;
};

Results run(const std::string& backend, const std::string& text, Precision precision, bool only_trains = false) {
  NetOptions options = net_options(backend);
  options.precision = precision;
  options.only_trains = only_trains;
  Net net(training_net(text), options);
  for (const auto& p : net.learnable())
    if (p.statistic) p.blob->write_data(std::vector<float>(static_cast<std::size_t>(p.blob->count()), 1.5F).data());
  Results results;
  for (int pass = 0; pass < 2; ++pass) {
    for (Blob* input : net.inputs()) {
      std::vector<float> values(static_cast<std::size_t>(input->count()));
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = 1 + 2 * noise(static_cast<std::uint64_t>(pass), static_cast<i64>(i));
      input->write_data(values.data());
    }
    net.clear_gradients();
    net.forward();
    std::vector<std::size_t> finished;
    net.backward(0, net.layers().size(), [&](std::size_t i) { finished.push_back(i); });
    EXPECT_EQ(finished.size(), net.layers().size());
    results.values.push_back(net.blob("last")->data_vector());
    for (const Blob* input : net.inputs()) results.values.push_back(input->diff_vector());
    for (const auto& p : net.learnable())
      results.values.push_back(p.statistic ? p.blob->data_vector() : p.blob->diff_vector());
  }
  for (const auto& entry : net.layers()) {
    results.absorbed += entry.absorbed.size();
    results.added_up += entry.is_added_up ? 1 : 0;
    results.joined += entry.joined_in != nullptr ? 1 : 0;
  }
  return results;
}

/// Compares chains in place with separate layers. In bf16 only those of convolution and ReLU: the others round in
/// between, and values near zero then meet the rectifier from different sides.
void compare_chains(const std::string& backend, Precision precision, float absolute) {
  struct Images {
    const char *shape, *channels;
    float errors;  ///< of sums, in those of the smallest
  };
  for (const auto& [shape, channels, errors] : {Images{"dim: 3 dim: 5 dim: 7 dim: 9", "5", 1},
                                                {"dim: 1 dim: 1 dim: 33 dim: 65", "0", 1},
                                                {"dim: 2 dim: 17 dim: 4 dim: 4", "17", 1},
                                                {"dim: 3 dim: 48 dim: 13 dim: 15", "48", 16},
                                                {"dim: 17 dim: 3", "0", 1}})
    for (const Chain& chain : chains()) {
      const bool convolves = std::string(chain.layers[0]).find("Convolution") != std::string::npos;
      const bool normalises =
          chain.layers.size() > 1 && std::string(chain.layers[1]).find("BatchNorm") != std::string::npos;
      if (convolves && channels == std::string("0")) continue;
      if (precision == Precision::bf16 && (!convolves || normalises)) continue;
      SCOPED_TRACE(std::string(chain.name) + ", " + shape);
      const auto text = [&, wanted = std::string(channels)](bool in_place) {
        std::string net = net_text(chain, shape, in_place);
        const std::string mark = "CHANNELS";
        for (auto at = net.find(mark); at != std::string::npos; at = net.find(mark))
          net.replace(at, mark.size(), wanted);
        return net;
      };
      const Results apart = run(backend, text(false), precision), together = run(backend, text(true), precision);
      EXPECT_EQ(apart.absorbed, 0U);
      EXPECT_EQ(together.absorbed, chain.absorbed);
      ASSERT_EQ(together.values.size(), apart.values.size());
      for (std::size_t i = 0; i < apart.values.size(); ++i)
        expect_near(together.values[i], apart.values[i], errors * absolute, absolute / 2);
    }
}

class FusionTest : public ::testing::TestWithParam<std::string> {};

TEST_P(FusionTest, ChainsInPlaceGiveWhatSeparateLayersGive) { compare_chains(GetParam(), Precision::fp32, 2e-5F); }

/// Above data that needs no gradient a convolution still rectifies; BatchNorm would not compute what Scale and ReLU
/// need.
TEST_P(FusionTest, TheFirstLayerIsNotAskedForGradients) {
  for (const Chain& chain :
       {Chain{"convolution", {convolution, relu}, 1}, Chain{"all", {batch_norm, scale, relu}, 0}}) {
    SCOPED_TRACE(chain.name);
    const auto text = [&](bool in_place) {
      std::string net = net_text(chain, "dim: 3 dim: 5 dim: 7 dim: 9", in_place);
      net.erase(0, std::string("force_backward: true ").size());
      const std::string mark = "CHANNELS";
      if (const auto at = net.find(mark); at != std::string::npos) net.replace(at, mark.size(), "5");
      return net;
    };
    const Results apart = run(GetParam(), text(false), Precision::fp32),
                  together = run(GetParam(), text(true), Precision::fp32);
    EXPECT_EQ(together.absorbed, chain.absorbed);
    ASSERT_EQ(together.values.size(), apart.values.size());
    for (std::size_t i = 0; i < apart.values.size(); ++i)
      expect_near(together.values[i], apart.values[i], 2e-5F, 1e-5F);
  }
}

/// A sum that `users` layers use, the first of them twice; `apart`: behind a layer that changes nothing.
std::string used_sum(const std::string& sum, const std::string& behind, int users, bool apart) {
  std::string text = "force_backward: true ";
  for (const std::string name : {"data", "other", "third"})
    text += "layer { name: '" + name + "' type: 'Input' top: '" + name +
            "' input_param { shape { dim: 3 dim: 5 dim: 7 dim: 9 } } }";
  text += "layer { name: 'sum' bottom: 'data' bottom: 'other' top: 'sum' type: 'Eltwise' " + sum + " }" + behind;
  if (apart) text += "layer { name: 'same' bottom: 'sum' top: 'same' type: 'Power' }";
  std::string product = apart ? "same" : "sum";
  for (int user = 0; user < users; ++user) {
    const std::string top = user + 1 < users ? "product" + std::to_string(user) : "last";
    text += "layer { name: '" + top + "' bottom: '" + product + "' bottom: '" + (apart ? "same" : "sum") + "' top: '" +
            top + "' type: 'Eltwise' eltwise_param { operation: " + (user % 2 ? "PROD" : "SUM coeff: 2 coeff: -0.5") +
            " }" + (user + 1 < users ? "" : " loss_weight: 0.75") + " }";
    product = top;
  }
  return text;
}

TEST_P(FusionTest, SumsAddTheGradientsOfTheirTopsUsers) {
  const std::string relu_behind = "layer { name: 'relu' bottom: 'sum' top: 'sum' type: 'ReLU' }",
                    leaky_behind =
                        "layer { name: 'relu' bottom: 'sum' top: 'sum' type: 'ReLU' "
                        "relu_param { negative_slope: 0.25 } }",
                    weights = "eltwise_param { coeff: 0.5 coeff: -2 }";
  struct Case {
    const char* name;
    std::string sum, behind;
    int users;
    std::size_t added_up;
  };
  for (const Case& c :
       {Case{"sum", "", "", 1, 1}, Case{"relu", "", relu_behind, 1, 1}, Case{"weights", weights, leaky_behind, 1, 1},
        Case{"three bottoms", "bottom: 'third'", relu_behind, 1, 1}, Case{"three users", "", relu_behind, 2, 0},
        Case{"loss", "loss_weight: 0.5", "", 1, 0}, Case{"product", "eltwise_param { operation: PROD }", "", 1, 0}})
    for (const bool shared : {false, true}) {
      SCOPED_TRACE(c.name);
      const Results apart = run(GetParam(), used_sum(c.sum, c.behind, c.users, true), Precision::fp32, shared),
                    together = run(GetParam(), used_sum(c.sum, c.behind, c.users, false), Precision::fp32, shared);
      EXPECT_EQ(apart.added_up, 0U);
      EXPECT_EQ(together.added_up, c.added_up);
      ASSERT_EQ(together.values.size(), apart.values.size());
      for (std::size_t i = 0; i < apart.values.size(); ++i)
        expect_near(together.values[i], apart.values[i], 2e-5F, 1e-5F);
    }
}

/// A residual block: what BatchNorm makes of one convolution, and `behind` it in place, plus another convolution's
/// output, which two layers use.
struct Residual {
  const char* name;
  std::string behind, sum = "bottom: 'main' bottom: 'other'", after_sum;
  bool other_comes_late = false, is_used_twice = true;
  std::size_t absorbed;    ///< where nobody looks
  bool takes_over = true;  ///< BatchNorm the sum then
};

std::string residual_net(const Residual& c, const std::string& shape, const std::string& channels) {
  const std::string convolves = " type: 'Convolution' convolution_param { num_output: " + channels +
                                " kernel_size: 1 weight_filler { type: 'xavier' } bias_filler { type: 'uniform' } } }";
  const std::string other = "layer { name: 'other' bottom: 'data' top: 'other'" + convolves;
  std::string text = "force_backward: true layer { name: 'data' type: 'Input' top: 'data' input_param { shape { " +
                     shape + " } } }" + (c.other_comes_late ? "" : other) +
                     "layer { name: 'main' bottom: 'data' top: 'main'" + convolves +
                     "layer { name: 'norm' bottom: 'main' top: 'main' type: 'BatchNorm' }" + c.behind +
                     (c.other_comes_late ? other : "") + "layer { name: 'sum' " + c.sum +
                     " top: 'sum' type: 'Eltwise' }" + c.after_sum;
  if (c.is_used_twice) text += "layer { name: 'user' bottom: 'sum' top: 'user'" + convolves;
  return text + "layer { name: 'last' bottom: 'sum' bottom: '" + (c.is_used_twice ? "user" : "data") +
         "' top: 'last' type: 'Eltwise' loss_weight: 0.75 eltwise_param { operation: PROD } }";
}

TEST_P(FusionTest, BatchNormsTakeOverSums) {
  const auto in_place = [](const std::string& name, const std::string& blob, const std::string& type) {
    return "layer { name: '" + name + "' bottom: '" + blob + "' top: '" + blob + "' " + type + " }";
  };
  const std::string scales = in_place("scale", "main", scale), rectifies = in_place("relu", "sum", relu),
                    leaks = in_place("relu", "sum", leaky_relu), swapped = "bottom: 'other' bottom: 'main'",
                    plain = "bottom: 'main' bottom: 'other'";
  const std::vector<Residual> cases = {
      {"all", scales, plain, rectifies, false, true, 3},
      {"no scale", "", plain, rectifies, false, true, 2},
      {"no relu", scales, plain, "", false, true, 2},
      {"leaky", scales, plain, leaks, false, true, 3},
      {"other first", scales, swapped, rectifies, false, true, 3},
      {"used once", scales, plain, rectifies, false, false, 3},
      {"other made later", scales, plain, rectifies, true, true, 2, false},
      {"rectified before", scales + in_place("early", "main", relu), plain, rectifies, false, true, 3, false},
      {"weights", scales, plain + " eltwise_param { coeff: 1 coeff: 0.5 }", rectifies, false, true, 2, false},
      {"product", scales, plain + " eltwise_param { operation: PROD }", rectifies, false, true, 1, false}};
  struct Images {
    const char *shape, *channels;
  };
  for (const auto& [shape, channels] : {Images{"dim: 3 dim: 5 dim: 7 dim: 9", "5"},
                                        {"dim: 1 dim: 1 dim: 3 dim: 5", "1"},
                                        {"dim: 2 dim: 32 dim: 6 dim: 7", "32"},
                                        {"dim: 2 dim: 16 dim: 1 dim: 1", "16"}})
    for (const Residual& c : cases) {
      SCOPED_TRACE(std::string(c.name) + ", " + shape);
      const std::string text = residual_net(c, shape, channels);
      const Results seen = run(GetParam(), text, Precision::fp32),
                    unseen = run(GetParam(), text, Precision::fp32, true);
      EXPECT_EQ(seen.absorbed + (c.takes_over ? 1 : 0), unseen.absorbed);
      EXPECT_EQ(unseen.absorbed, c.absorbed);
      ASSERT_EQ(unseen.values.size(), seen.values.size());
      for (std::size_t i = 0; i < seen.values.size(); ++i) expect_near(unseen.values[i], seen.values[i], 2e-5F, 1e-5F);
    }
}

/// Residual blocks that follow each other: each adds what a convolution and BatchNorm make of a blob to that blob. What
/// the last one makes goes to another convolution and to a product with that one's output; `of_product`: more of the
/// product's parameter.
std::string blocks_in_a_row(int blocks, const std::string& shape, const std::string& channels,
                            const std::string& of_product = "") {
  const auto convolves = [&](const std::string& name, const std::string& bottom) {
    return "layer { name: '" + name + "' bottom: '" + bottom + "' top: '" + name +
           "' type: 'Convolution' convolution_param { num_output: " + channels +
           " kernel_size: 1 weight_filler { type: 'xavier' } } }";
  };
  std::string text = "force_backward: true layer { name: 'data' type: 'Input' top: 'data' input_param { shape { " +
                     shape + " } } }" + convolves("sum0", "data");
  for (int i = 1; i <= blocks; ++i) {
    const std::string main = "main" + std::to_string(i), before = "sum" + std::to_string(i - 1),
                      sum = "sum" + std::to_string(i);
    text += convolves(main, before) + "layer { name: 'norm" + main + "' bottom: '" + main + "' top: '" + main +
            "' type: 'BatchNorm' } layer { name: '" + sum + "' bottom: '" + before + "' bottom: '" + main + "' top: '" +
            sum + "' type: 'Eltwise' } layer { name: 'relu" + sum + "' bottom: '" + sum + "' top: '" + sum + "' " +
            (i % 2 ? relu : leaky_relu) + " }";
  }
  const std::string last = "sum" + std::to_string(blocks);
  return text + convolves("user", last) + "layer { name: 'last' bottom: '" + last +
         "' bottom: 'user' top: 'last' type: 'Eltwise' loss_weight: 0.75 eltwise_param { operation: PROD } " +
         of_product + " }";
}

/// Every block's sum gets both gradients joined by the convolution that reads it, in one place for all blocks.
TEST_P(FusionTest, GradientsOfSumsJoinFromBlockToBlock) {
  for (const auto& [shape, channels] : {std::pair{"dim: 3 dim: 5 dim: 7 dim: 9", "5"},
                                        {"dim: 1 dim: 1 dim: 3 dim: 5", "1"},
                                        {"dim: 2 dim: 32 dim: 6 dim: 7", "32"}}) {
    SCOPED_TRACE(shape);
    const std::string text = blocks_in_a_row(3, shape, channels);
    const Results seen = run(GetParam(), text, Precision::fp32), unseen = run(GetParam(), text, Precision::fp32, true);
    EXPECT_EQ(seen.joined, 0U);
    EXPECT_EQ(unseen.joined, 3U);
    ASSERT_EQ(unseen.values.size(), seen.values.size());
    for (std::size_t i = 0; i < seen.values.size(); ++i) expect_near(unseen.values[i], seen.values[i], 2e-5F, 2e-5F);
  }
}

/// A gradient that is not made stays zero, however often the other one is.
TEST_P(FusionTest, GradientsOfSumsJoinOnlyWhereBothAreMade) {
  std::string text =
      blocks_in_a_row(2, "dim: 3 dim: 5 dim: 7 dim: 9", "5", "propagate_down: false propagate_down: true");
  text.erase(0, std::string("force_backward: true ").size());  // which would make all of them
  const Results seen = run(GetParam(), text, Precision::fp32), unseen = run(GetParam(), text, Precision::fp32, true);
  EXPECT_EQ(unseen.joined, 1U);
  ASSERT_EQ(unseen.values.size(), seen.values.size());
  for (std::size_t i = 0; i < seen.values.size(); ++i) expect_near(unseen.values[i], seen.values[i], 2e-5F, 2e-5F);
}

class Bf16FusionTest : public ::testing::TestWithParam<std::string> {};

TEST_P(Bf16FusionTest, ChainsInPlaceGiveWhatSeparateLayersGive) {
  compare_chains(GetParam(), Precision::bf16, 0x1p-6F);
}

double squared_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i] - b[i]} * double{a[i] - b[i]};
  return sum;
}

/// What is not stored is not rounded: results are no farther from those in float. Without a rectifier, which would meet
/// values near zero from different sides.
TEST_P(Bf16FusionTest, BatchNormsTakeOverSums) {
  const Residual block{"sum", "", "bottom: 'main' bottom: 'other'", "", false, true, 1};
  const std::string text = residual_net(block, "dim: 2 dim: 32 dim: 6 dim: 7", "32");
  const Results exact = run(GetParam(), text, Precision::fp32), seen = run(GetParam(), text, Precision::bf16),
                unseen = run(GetParam(), text, Precision::bf16, true);
  EXPECT_EQ(seen.absorbed, 0U);
  EXPECT_EQ(unseen.absorbed, 1U);
  ASSERT_EQ(unseen.values.size(), exact.values.size());
  for (std::size_t i = 0; i < exact.values.size(); ++i)
    EXPECT_LE(squared_distance(unseen.values[i], exact.values[i]),
              1.5 * squared_distance(seen.values[i], exact.values[i]) + 1e-6)
        << "array " << i;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Bf16FusionTest);
INSTANTIATE_TEST_SUITE_P(Backends, Bf16FusionTest, bf16_backends(), backend_name);

INSTANTIATE_TEST_SUITE_P(Backends, FusionTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::fusion_test
