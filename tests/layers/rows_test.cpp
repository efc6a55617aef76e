// Layers that pick rows by number: Embed, BatchReindex, Filter.
#include <limits>
#include <sstream>

#include "core/base/error.h"
#include "tests/support/layer_rig.h"
#include "tests/support/message_of.h"
#include "tests/support/real_nets.h"

namespace cortado::test::rows_test {
namespace {

class RowsTest : public ::testing::TestWithParam<std::string> {};

std::string embed(i64 words, i64 width, const std::string& more = "") {
  return "name: \"e\" type: \"Embed\" embed_param { input_dim: " + std::to_string(words) +
         " num_output: " + std::to_string(width) + " weight_filler { type: \"uniform\" min: -1 max: 1 } " + more + " }";
}

TEST_P(RowsTest, EmbedPicksAndSumsRows) {
  struct Case {
    i64 words, width;
    Shape shape;
  };
  for (const Case& c : {Case{1, 1, {1}}, Case{9, 5, {3, 4}}, Case{7, 4099, {2, 3}}, Case{300, 3, {65, 33}}})
    for (const bool bias : {false, true}) {
      SCOPED_TRACE(to_string(c.shape));
      LayerRig rig(GetParam(), embed(c.words, c.width, bias ? "bias_filler { value: 0.25 }" : "bias_term: false"),
                   {c.shape});
      rig.fill_bottom(0, [&](i64 i) { return static_cast<float>((i * i + 3 * i) % c.words); });
      rig.forward();
      rig.fill_top_diff(0, [](i64 i) { return noise(5, i); });
      rig.backward({false});
      const auto index = rig.bottom(0).data_vector(), w = rig.blob(0).data_vector(), y = rig.top(0).data_vector(),
                 dy = rig.top(0).diff_vector();
      std::vector<float> wanted, dw(w.size());
      for (std::size_t i = 0; i < index.size(); ++i)
        for (i64 j = 0; j < c.width; ++j) {
          const auto at = static_cast<std::size_t>(static_cast<i64>(index[i]) * c.width + j);
          wanted.push_back(w[at] + (bias ? 0.25f : 0.0f));
          dw[at] += dy[i * static_cast<std::size_t>(c.width) + static_cast<std::size_t>(j)];
        }
      expect_near(y, wanted, 0, 1e-6f);
      expect_near(rig.blob(0).diff_vector(), dw, 1e-5f, 1e-5f);
    }
}

TEST_P(RowsTest, NumbersOfNoRowAreNamed) {
  const auto expect_named = [](LayerRig& rig, std::size_t bottom, const std::string& whose, float wrong) {
    rig.fill_bottom(bottom, [&](i64 i) { return i == 1 ? wrong : 0.0f; });
    std::ostringstream due;
    due << "its " << whose << " value 1 is " << wrong << ", no whole number from 0 to 3";
    const std::string message = message_of([&] { rig.forward(); });
    EXPECT_NE(message.find(due.str()), std::string::npos) << message;
  };
  for (const float wrong :
       {-1.0f, 4.0f, 1.5f, 1e30f, std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    LayerRig words(GetParam(), embed(4, 2), {{3}}),
        samples(GetParam(), "name: \"b\" type: \"BatchReindex\"", {{4, 3}, {3}});
    expect_named(words, 0, "bottom's", wrong);
    expect_named(samples, 1, "second bottom's", wrong);
  }
}

TEST_P(RowsTest, BatchReindexPicksSamples) {
  LayerRig rig(GetParam(), "name: \"b\" type: \"BatchReindex\"", {{5, 3, 701}, {7}});
  const std::vector<float> index = {4, 0, 0, 2, 4, 4, 1};
  rig.bottom(1).write_data(index.data());
  rig.forward();
  rig.fill_top_diff(0, [](i64 i) { return noise(5, i); });
  rig.backward();
  const auto x = rig.bottom(0).data_vector(), y = rig.top(0).data_vector(), dy = rig.top(0).diff_vector();
  const std::size_t image = 3 * 701;
  std::vector<float> dx(x.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t from = static_cast<std::size_t>(index[i / image]) * image + i % image;
    ASSERT_EQ(y[i], x[from]);
    dx[from] += dy[i];
  }
  expect_near(rig.bottom(0).diff_vector(), dx, 1e-6f, 1e-6f);
  rig.fill_bottom(1, [](i64) { return 5.0f; });
  EXPECT_THROW(rig.forward(), ConfigError);
}

TEST_P(RowsTest, FilterIsToldWhatPasses) {
  LayerRig rig(GetParam(), "name: \"f\" type: \"Filter\" bottom: \"a\" bottom: \"s\"", {{3, 2}, {3}}, 1);
  rig.fill_bottom(1, [](i64 i) { return i == 2 ? std::numeric_limits<float>::quiet_NaN() : 1.0f; });
  const std::string message = message_of([&] { rig.forward(); });
  EXPECT_NE(message.find("whether sample 2 of this batch passes is nan"), std::string::npos) << message;
}

TEST_P(RowsTest, FilterKeepsChosenSamples) {
  for (const std::vector<float>& chosen :
       {std::vector<float>{1, 0, 2, 0}, std::vector<float>{0, 0, 0, 0}, std::vector<float>{1, 1, 1, 1}}) {
    LayerRig rig(GetParam(), "name: \"f\" type: \"Filter\" bottom: \"a\" bottom: \"b\" bottom: \"s\"",
                 {{4, 3}, {4}, {4, 1, 1, 1}}, 2);
    rig.bottom(2).write_data(chosen.data());
    rig.forward();
    const auto x = rig.bottom(0).data_vector();
    std::vector<float> wanted, dx(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      if (chosen[i / 3] != 0) {
        dx[i] = noise(5, static_cast<i64>(wanted.size()));
        wanted.push_back(x[i]);
      }
    EXPECT_EQ(rig.top(0).shape(), (Shape{static_cast<i64>(wanted.size()) / 3, 3}));
    EXPECT_EQ(rig.top(0).data_vector(), wanted);
    EXPECT_EQ(rig.top(1).count(), static_cast<i64>(wanted.size()) / 3);
    rig.fill_top_diff(0, [](i64 i) { return noise(5, i); });
    rig.layer().backward({&rig.top(0), &rig.top(1)}, {true, false, false},
                         {&rig.bottom(0), &rig.bottom(1), &rig.bottom(2)});
    EXPECT_EQ(rig.bottom(0).diff_vector(), dx);
  }
}

/// What stands behind a Filter follows its batch, in both directions.
TEST_P(RowsTest, LayersBehindAFilterFollowItsBatch) {
  caffe::NetParameter parameter;
  parse_text(R"(
    force_backward: true
    layer { name: "in" type: "Input" top: "x" top: "keep" input_param { shape { dim: 4 dim: 3 } shape { dim: 4 } } }
    layer { name: "filter" type: "Filter" bottom: "x" bottom: "keep" top: "kept" }
    layer { name: "ip" type: "InnerProduct" bottom: "kept" top: "y" inner_product_param { num_output: 2 weight_filler { value: 1 } } }
    layer { name: "sum" type: "Reduction" bottom: "y" top: "sum" loss_weight: 1 }
  )",
             "net", parameter);
  Net net(parameter, net_options(GetParam()));
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  for (const std::vector<float>& keep : {std::vector<float>{0, 1, 0, 1}, std::vector<float>{1, 0, 0, 0}}) {
    net.blob("x")->write_data(x.data());
    net.clear_gradients();
    net.blob("keep")->write_data(std::vector<float>(4, 1).data());
    net.forward();
    EXPECT_EQ(net.blob("y")->dim(0), 4);
    net.blob("keep")->write_data(keep.data());
    for (std::size_t i = 0; i < net.layers().size(); ++i) net.forward(i, i + 1);  // as timing does
    net.backward();
    float sum = 0, kept = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += keep[i / 3] * x[i];
    for (const float k : keep) kept += k;
    EXPECT_EQ(net.blob("y")->shape(), (Shape{static_cast<i64>(kept), 2}));
    EXPECT_FLOAT_EQ(net.blob("sum")->data_vector()[0], 2 * sum);
    const auto dx = net.blob("x")->diff_vector();
    for (std::size_t i = 0; i < dx.size(); ++i) EXPECT_EQ(dx[i], 2 * keep[i / 3]) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, RowsTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::rows_test
