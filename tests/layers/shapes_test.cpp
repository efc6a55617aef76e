// Layers that move values without computing: Reshape, Flatten, Slice, Crop, Tile, Silence, Parameter, ArgMax.
#include <algorithm>

#include "core/base/error.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::shapes_test {
namespace {

class ShapesTest : public ::testing::TestWithParam<std::string> {
 protected:
  Shape shape_after(const std::string& text, const Shape& bottom) {
    LayerRig rig(GetParam(), "name: \"s\" type: " + text, {bottom});
    rig.forward();
    EXPECT_EQ(rig.top(0).data_vector(), rig.bottom(0).data_vector());
    rig.fill_top_diff(0, [](i64 i) { return noise(5, i); });
    rig.backward();
    EXPECT_EQ(rig.bottom(0).diff_vector(), rig.top(0).diff_vector());
    return rig.top(0).shape();
  }
};

TEST_P(ShapesTest, ReshapeGivesAnotherShape) {
  const Shape from = {2, 3, 4, 5};
  const auto reshaped = [&](const std::string& p) {
    return shape_after("\"Reshape\" reshape_param { " + p + " }", from);
  };
  EXPECT_EQ(reshaped("shape { dim: 0 dim: -1 }"), (Shape{2, 60}));
  EXPECT_EQ(reshaped("shape { dim: 120 }"), (Shape{120}));
  EXPECT_EQ(reshaped("shape { dim: 12 } axis: 1 num_axes: 2"), (Shape{2, 12, 5}));
  EXPECT_EQ(reshaped("shape { dim: 1 } axis: 1 num_axes: 0"), (Shape{2, 1, 3, 4, 5}));
  EXPECT_EQ(reshaped("shape { dim: 1 } axis: -1 num_axes: 0"), (Shape{2, 3, 4, 5, 1}));
  EXPECT_EQ(reshaped("shape { dim: 0 dim: 0 dim: 2 dim: -1 dim: 5 }"), (Shape{2, 3, 2, 2, 5}));
  for (const std::string wrong : {"shape { dim: 7 dim: -1 }", "shape { dim: 119 }", "shape { dim: -1 dim: -1 }",
                                  "shape { dim: -2 }", "axis: 5", "axis: 1 num_axes: 9"})
    EXPECT_THROW(reshaped(wrong), Error) << wrong;
}

TEST_P(ShapesTest, FlattenJoinsAxes) {
  const Shape from = {2, 3, 4, 5};
  const auto flat = [&](const std::string& p) { return shape_after("\"Flatten\" flatten_param { " + p + " }", from); };
  EXPECT_EQ(flat(""), (Shape{2, 60}));
  EXPECT_EQ(flat("axis: 0"), (Shape{120}));
  EXPECT_EQ(flat("axis: 1 end_axis: 2"), (Shape{2, 12, 5}));
  EXPECT_EQ(flat("axis: -2 end_axis: -2"), from);
  EXPECT_THROW(flat("axis: 2 end_axis: 1"), ConfigError);
}

TEST_P(ShapesTest, SliceCutsAndJoins) {
  for (const std::string options :
       {"slice_param { axis: 1 slice_point: 1 slice_point: 4 }", "slice_param { axis: -3 }"}) {
    LayerRig rig(GetParam(), "name: \"s\" type: \"Slice\" " + options, {{2, 6, 5, 701}}, 3);
    rig.forward();
    const auto x = rig.bottom(0).data_vector();
    i64 channel = 0;
    for (std::size_t t = 0; t < 3; ++t) {
      const i64 channels = rig.top(t).dim(1), image = 5 * 701;
      const auto y = rig.top(t).data_vector();
      for (i64 n = 0; n < 2; ++n)
        ASSERT_TRUE(std::equal(y.begin() + n * channels * image, y.begin() + (n + 1) * channels * image,
                               x.begin() + (n * 6 + channel) * image));
      channel += channels;
      rig.top(t).write_diff(y.data());
    }
    EXPECT_EQ(channel, 6);
    rig.backward();
    EXPECT_EQ(rig.bottom(0).diff_vector(), x);
  }
  const auto slice = [&](const std::string& p) {
    LayerRig(GetParam(), "name: \"s\" type: \"Slice\" slice_param { " + p + " }", {{2, 7}}, 3);
  };
  for (const std::string wrong : {"", "slice_point: 3", "slice_point: 3 slice_point: 3",
                                  "slice_point: 3 slice_point: 7", "axis: 1 slice_dim: 1", "axis: 2"})
    EXPECT_THROW(slice(wrong), Error) << wrong;
}

TEST_P(ShapesTest, CropTakesAWindow) {
  struct Case {
    std::string options;
    Shape whole, part, origin;
  };
  for (const Case& c : {Case{"axis: 2 offset: 2 offset: 1", {2, 3, 9, 8}, {2, 3, 5, 6}, {0, 0, 2, 1}},
                        Case{"axis: 1 offset: 1", {2, 4, 7, 5001}, {2, 2, 3, 4999}, {0, 1, 1, 1}},
                        Case{"axis: 0", {3, 5}, {2, 5}, {0, 0}}, Case{"axis: 0", {3, 5}, {2, 5, 7}, {0, 0}},
                        Case{"axis: -1 offset: 3", {6}, {3}, {3}},
                        Case{"axis: 2 offset: 1", {1, 2, 3, 4, 5}, {1, 1, 2, 2, 4}, {0, 0, 1, 1, 1}}}) {
    SCOPED_TRACE(c.options);
    LayerRig rig(GetParam(), "name: \"c\" type: \"Crop\" crop_param { " + c.options + " }", {c.whole, c.part});
    rig.forward();
    rig.fill_top_diff(0, [](i64 i) { return noise(5, i); });
    rig.backward();
    const auto x = rig.bottom(0).data_vector(), y = rig.top(0).data_vector(), dx = rig.bottom(0).diff_vector(),
               dy = rig.top(0).diff_vector();
    const Shape cut = rig.top(0).shape();
    std::size_t inside = 0;
    for (std::size_t e = 0; e < x.size(); ++e) {
      bool in = true;
      i64 rest = static_cast<i64>(e);
      for (std::size_t d = cut.size(); d-- > 0; rest /= c.whole[d])
        in = in && rest % c.whole[d] >= c.origin[d] && rest % c.whole[d] < c.origin[d] + cut[d];
      if (in) { ASSERT_EQ(y[inside], x[e]); }
      ASSERT_EQ(dx[e], in ? dy[inside] : 0.0f);
      inside += in ? 1 : 0;
    }
    EXPECT_EQ(inside, y.size());
  }
  const auto crop = [&](const std::string& p) {
    LayerRig(GetParam(), "name: \"c\" type: \"Crop\" crop_param { " + p + " }", {{2, 3, 4, 4}, {2, 3, 3, 3}});
  };
  EXPECT_THROW(crop("axis: 2 offset: 2"), ShapeError);
  EXPECT_THROW(crop("axis: 1 offset: 0 offset: 1"), ConfigError);
  EXPECT_THROW(LayerRig(GetParam(), "name: \"c\" type: \"Crop\"", {{2, 3, 4, 4}, {2, 3, 3}}), ShapeError);
}

TEST_P(ShapesTest, TileRepeats) {
  for (const int axis : {0, 1, 2})
    for (const Shape& shape : {Shape{2, 3, 5}, Shape{1, 2, 7001}}) {
      LayerRig rig(GetParam(), "name: \"t\" type: \"Tile\" tile_param { tiles: 3 axis: " + std::to_string(axis) + " }",
                   {shape});
      rig.forward();
      rig.fill_top_diff(0, [](i64 i) { return noise(5, i); });
      rig.backward();
      const auto x = rig.bottom(0).data_vector(), y = rig.top(0).data_vector(), dy = rig.top(0).diff_vector();
      const i64 width = rig.bottom(0).count(axis);
      std::vector<float> dx(x.size());
      for (std::size_t e = 0; e < y.size(); ++e) {
        const auto i = static_cast<i64>(e);
        const auto from = static_cast<std::size_t>(i / (3 * width) * width + i % width);
        ASSERT_EQ(y[e], x[from]);
        dx[from] += dy[e];
      }
      expect_near(rig.bottom(0).diff_vector(), dx, 1e-6f, 1e-6f);
    }
  EXPECT_THROW(LayerRig(GetParam(), "name: \"t\" type: \"Tile\" tile_param { axis: 1 }", {{2, 3}}), ConfigError);
}

TEST_P(ShapesTest, ArgMaxSortsPlaces) {
  const auto run = [&](const std::string& options, const Shape& shape, const std::vector<float>& x) {
    LayerRig rig(GetParam(), "name: \"a\" type: \"ArgMax\" argmax_param { " + options + " }", {shape});
    rig.bottom(0).write_data(x.data());
    rig.forward();
    return std::make_pair(rig.top(0).shape(), rig.top(0).data_vector());
  };
  const std::vector<float> x = {3, 1, 2, /**/ 5, 7, 7};
  EXPECT_EQ(run("", {2, 3}, x), std::make_pair(Shape{2, 1, 1}, std::vector<float>{0, 2}));
  EXPECT_EQ(run("top_k: 2", {2, 3}, x), std::make_pair(Shape{2, 1, 2}, std::vector<float>{0, 2, 2, 1}));
  EXPECT_EQ(run("top_k: 2 out_max_val: true", {2, 3}, x),
            std::make_pair(Shape{2, 2, 2}, std::vector<float>{0, 2, 3, 2, 2, 1, 7, 7}));
  EXPECT_EQ(run("axis: 0", {2, 3}, x), std::make_pair(Shape{1, 3}, std::vector<float>{1, 1, 1}));
  EXPECT_EQ(run("axis: 1 out_max_val: true", {2, 3}, x), std::make_pair(Shape{2, 1}, std::vector<float>{3, 7}));
  EXPECT_THROW(run("top_k: 4", {2, 3}, x), ConfigError);
}

TEST_P(ShapesTest, SilenceStopsGradients) {
  LayerRig rig(GetParam(), "name: \"s\" type: \"Silence\"", {{3}, {2}}, 0);
  for (const std::size_t i : {0, 1}) rig.bottom(i).write_diff(noise_vector(1, 3).data());
  rig.forward();
  rig.backward({true, false});
  EXPECT_EQ(rig.bottom(0).diff_vector(), std::vector<float>(3));
  EXPECT_EQ(rig.bottom(1).diff_vector(), noise_vector(1, 2));
}

TEST_P(ShapesTest, ParameterIsItsBlob) {
  LayerRig rig(GetParam(), "name: \"p\" type: \"Parameter\" parameter_param { shape { dim: 2 dim: 3 } }", {});
  rig.fill_blob(0, [](i64 i) { return noise(1, i); });
  rig.forward();
  EXPECT_EQ(rig.top(0).shape(), (Shape{2, 3}));
  EXPECT_EQ(rig.top(0).data_vector(), noise_vector(1, 6));
  rig.fill_top_diff(0, [](i64 i) { return noise(2, i); });
  rig.backward();
  EXPECT_EQ(rig.blob(0).diff_vector(), noise_vector(2, 6));
}

INSTANTIATE_TEST_SUITE_P(Backends, ShapesTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::shapes_test
