// Layers with a value per channel or row: Bias, PReLU, MVN, Reduction.
#include <cmath>

#include "core/base/error.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::statistics_test {
namespace {

class StatisticsTest : public ::testing::TestWithParam<std::string> {};

TEST_P(StatisticsTest, BiasIsAddedAlongItsAxes) {
  struct Case {
    std::string options;
    Shape bottom, bias;
    i64 inner;
  };
  for (const Case& c : {Case{"", {2, 3, 5, 7}, {3}, 35}, Case{"axis: 0 num_axes: -1", {2, 3}, {2, 3}, 1},
                        Case{"axis: 1 num_axes: 2", {2, 3, 5, 4001}, {3, 5}, 4001}, Case{"num_axes: 0", {2, 3}, {}, 3}})
    for (const bool given : {false, true}) {
      SCOPED_TRACE(c.options);
      LayerRig rig(GetParam(),
                   "name: \"b\" type: \"Bias\" bias_param { " + c.options + " filler { type: \"uniform\" } }",
                   given ? std::vector<Shape>{c.bottom, c.bias} : std::vector<Shape>{c.bottom});
      rig.forward();
      const auto x = rig.bottom(0).data_vector(), bias = (given ? rig.bottom(1) : rig.blob(0)).data_vector();
      rig.fill_top_diff(0, [](i64 i) { return noise(5, i); });
      rig.backward();
      std::vector<float> y;
      std::vector<double> sums(bias.size());
      const auto dy = rig.top(0).diff_vector();
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t k = i / static_cast<std::size_t>(c.inner) % bias.size();
        y.push_back(x[i] + bias[k]);
        sums[k] += double{dy[i]};
      }
      expect_near(rig.top(0).data_vector(), y, 0, 1e-6f);
      EXPECT_EQ(rig.bottom(0).diff_vector(), dy);
      expect_near((given ? rig.bottom(1) : rig.blob(0)).diff_vector(), {sums.begin(), sums.end()}, 1e-4f, 1e-4f);
    }
  EXPECT_THROW(LayerRig(GetParam(), "name: \"b\" type: \"Bias\"", {{2, 3}, {2}}), ShapeError);
}

TEST_P(StatisticsTest, PReluLearnsSlopes) {
  for (const bool shared : {false, true})
    for (const bool in_place : {false, true})
      for (const Shape& shape : {Shape{1, 1}, Shape{4, 5}, Shape{2, 3, 5, 7}, Shape{1, 2, 3, 5003}}) {
        SCOPED_TRACE(to_string(shape));
        LayerRig rig(
            GetParam(),
            std::string("name: \"p\" type: \"PReLU\" prelu_param { filler { type: \"uniform\" } channel_shared: ") +
                (shared ? "true }" : "false }"),
            {shape});
        const auto x = rig.bottom(0).data_vector(), slope = rig.blob(0).data_vector();
        const auto dy = noise_vector(5, count_of(shape));
        Blob &bottom = rig.bottom(0), &top = in_place ? bottom : rig.top(0);
        rig.layer().reshape({&bottom}, {&top});
        rig.layer().forward({&bottom}, {&top});
        const auto y = top.data_vector();
        rig.blob(0).zero_diff();
        top.write_diff(dy.data());
        rig.layer().backward({&top}, {true}, {&bottom});
        std::vector<float> wanted, dx;
        std::vector<double> dslope(slope.size());
        const std::size_t inner = static_cast<std::size_t>(count_of(shape) / shape[0] / shape[1]);
        for (std::size_t i = 0; i < x.size(); ++i) {
          const std::size_t k = i / inner % slope.size();
          wanted.push_back(x[i] > 0 ? x[i] : slope[k] * x[i]);
          dx.push_back(x[i] > 0 ? dy[i] : slope[k] * dy[i]);
          dslope[k] += x[i] > 0 ? 0 : double{x[i]} * double{dy[i]};
        }
        expect_near(y, wanted, 0, 1e-6f);
        expect_near(bottom.diff_vector(), dx, 0, 1e-6f);
        expect_near(rig.blob(0).diff_vector(), {dslope.begin(), dslope.end()}, 1e-4f, 1e-4f);
      }
  LayerRig quarter(GetParam(), "name: \"p\" type: \"PReLU\"", {{2, 3}});
  EXPECT_EQ(quarter.blob(0).data_vector(), std::vector<float>(3, 0.25f));
}

TEST_P(StatisticsTest, MvnIsTheDefinition) {
  struct Case {
    std::string options;
    Shape shape;
    i64 width;
    bool scales;
  };
  for (const Case& c :
       {Case{"", {3, 4, 5, 5}, 25, true}, Case{"across_channels: true", {3, 4, 5, 5}, 100, true},
        Case{"normalize_variance: false", {2, 3, 7, 1}, 7, false}, Case{"eps: 0.5", {1, 1, 5003}, 5003, true}}) {
    SCOPED_TRACE(c.options);
    LayerRig rig(GetParam(), "name: \"m\" type: \"MVN\" mvn_param { " + c.options + " }", {c.shape});
    rig.fill_bottom(0, [](i64 i) { return 2 + 3 * noise(1, i); });
    rig.forward();
    const auto x = rig.bottom(0).data_vector();
    const double eps = c.options == "eps: 0.5" ? 0.5 : 1e-9, n = static_cast<double>(c.width);
    std::vector<float> y;
    for (std::size_t first = 0; first < x.size(); first += static_cast<std::size_t>(c.width)) {
      double mean = 0, variance = 0;
      const std::size_t end = first + static_cast<std::size_t>(c.width);
      for (std::size_t i = first; i < end; ++i) mean += double{x[i]} / n;
      for (std::size_t i = first; i < end; ++i) variance += std::pow(double{x[i]} - mean, 2) / n;
      for (std::size_t i = first; i < end; ++i)
        y.push_back(static_cast<float>((double{x[i]} - mean) / (c.scales ? std::sqrt(variance) + eps : 1)));
    }
    expect_near(rig.top(0).data_vector(), y, 1e-5f, 1e-5f);
    if (c.width < 200 && c.options != "eps: 0.5") rig.check_gradients();
  }
}

TEST_P(StatisticsTest, ReductionIsTheDefinition) {
  for (const std::string operation : {"SUM", "MEAN", "ASUM", "SUMSQ"})
    for (const int axis : {0, 1, -1})
      for (const Shape& shape : {Shape{3}, Shape{2, 3, 5}, Shape{3, 7001}}) {
        if (axis == 1 && shape.size() < 2) continue;
        SCOPED_TRACE(operation + to_string(shape));
        LayerRig rig(GetParam(),
                     "name: \"r\" type: \"Reduction\" reduction_param { coeff: -2 operation: " + operation +
                         " axis: " + std::to_string(axis) + " }",
                     {shape});
        rig.forward();
        const int first = axis < 0 ? static_cast<int>(shape.size()) - 1 : axis;
        EXPECT_EQ(rig.top(0).shape(), Shape(shape.begin(), shape.begin() + first));
        const auto x = rig.bottom(0).data_vector();
        const auto width = static_cast<std::size_t>(rig.bottom(0).count(first));
        std::vector<double> y(x.size() / width);
        for (std::size_t i = 0; i < x.size(); ++i) {
          const double v = double{x[i]};
          y[i / width] += -2 * (operation == "ASUM"    ? std::fabs(v)
                                : operation == "SUMSQ" ? v * v
                                : operation == "MEAN"  ? v / static_cast<double>(width)
                                                       : v);
        }
        expect_near(rig.top(0).data_vector(), {y.begin(), y.end()}, 1e-4f, 1e-5f);
        if (x.size() < 100) rig.check_gradients(1e-3f, 1e-2f, true);
      }
}

INSTANTIATE_TEST_SUITE_P(Backends, StatisticsTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::statistics_test
