// Layers that make planes larger: Upsample, with a mask and without, and Interp.

#include <limits>

#include "layers/interp/oracle.h"
#include "layers/upsample/oracle.h"
#include "tests/support/layer_rig.h"
#include "tests/support/message_of.h"
#include "tests/support/real_nets.h"

namespace cortado::test::upsample_test {
namespace {

class UpsampleTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::string complaint(const std::string& text, const std::vector<Shape>& shapes) const {
    return message_of([&] { LayerRig(GetParam(), text, shapes).forward(); });
  }
  /// Each of these says its part, and the layer's name.
  void expect_refused(const std::vector<std::pair<std::string, std::string>>& cases,
                      const std::vector<Shape>& shapes) const {
    for (const auto& [text, part] : cases) {
      const std::string said = complaint(text, shapes);
      EXPECT_NE(said.find("layer 'u'"), std::string::npos) << text << ": " << said;
      EXPECT_NE(said.find(part), std::string::npos) << text << ": " << said;
    }
  }
};

std::string upsample(const std::string& options) {
  return "name: \"u\" type: \"Upsample\" upsample_param { " + options + " }";
}

TEST_P(UpsampleTest, RepeatsPixels) {
  struct Case {
    std::string options;
    Shape shape;
    i64 sh, sw;
  };
  for (const Case& c : {Case{"scale: 2", {2, 3, 4, 5}, 2, 2}, Case{"scale: 1", {1, 1, 3, 3}, 1, 1},
                        Case{"scale: 3", {1, 2, 1, 1}, 3, 3}, Case{"scale_h: 1 scale_w: 4", {1, 2, 3, 1200}, 1, 4},
                        Case{"scale: 2", {0, 3, 2, 2}, 2, 2}}) {
    SCOPED_TRACE(to_string(c.shape) + c.options);
    LayerRig rig(GetParam(), upsample(c.options), {c.shape});
    rig.forward();
    rig.fill_top_diff(0, [](i64 i) { return noise(9, i); });
    rig.backward();
    const auto from = oracle::repeated_pixels(c.shape[0] * c.shape[1], c.shape[2], c.shape[3], c.sh, c.sw);
    const auto x = rig.bottom(0).data_vector(), dy = rig.top(0).diff_vector();
    std::vector<float> y, dx(x.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      y.push_back(x[from[i]]);
      dx[from[i]] += dy[i];
    }
    EXPECT_EQ(rig.top(0).shape(), (Shape{c.shape[0], c.shape[1], c.shape[2] * c.sh, c.shape[3] * c.sw}));
    EXPECT_EQ(rig.top(0).data_vector(), y);
    expect_near(rig.bottom(0).diff_vector(), dx, 1e-6f, 1e-6f);
  }
  LayerRig(GetParam(), upsample("scale: 2"), {{2, 2, 2, 3}}).check_gradients();
}

/// Places of pixel i of a plane, each its own, in no order.
float scattered(i64 i, i64 pixels, i64 places) {
  return static_cast<float>((i % pixels * 7919 + i / pixels * 13) % places);
}

TEST_P(UpsampleTest, PlacesPixelsWhereTheMaskSays) {
  struct Case {
    std::string options;
    Shape shape;
    i64 height, width;
  };
  for (const Case& c :
       {Case{"scale: 2", {2, 3, 4, 5}, 8, 10}, Case{"", {1, 1, 1, 1}, 2, 2},
        Case{"scale: 2 pad_out_h: true", {1, 2, 3, 4}, 5, 8}, Case{"upsample_h: 7 upsample_w: 9", {2, 1, 3, 4}, 7, 9},
        Case{"scale_h: 3 scale_w: 1", {1, 2, 2, 2}, 6, 2},
        Case{"upsample_h: 130 upsample_w: 101", {1, 2, 60, 50}, 130, 101}, Case{"scale: 2", {0, 3, 2, 2}, 4, 4}}) {
    SCOPED_TRACE(to_string(c.shape) + c.options);
    LayerRig rig(GetParam(), upsample(c.options), {c.shape, c.shape});
    const i64 pixels = c.shape[2] * c.shape[3], places = c.height * c.width;
    rig.fill_bottom(1, [&](i64 i) { return scattered(i, pixels, places); });
    rig.forward();
    rig.fill_top_diff(0, [](i64 i) { return noise(9, i); });
    rig.backward();
    const auto to = oracle::masked_places(rig.bottom(1).data_vector(), pixels, places);
    const auto x = rig.bottom(0).data_vector(), dy = rig.top(0).diff_vector();
    std::vector<float> y(dy.size()), dx;
    for (std::size_t i = 0; i < to.size(); ++i) {
      y[to[i]] = x[i];
      dx.push_back(dy[to[i]]);
    }
    EXPECT_EQ(rig.top(0).shape(), (Shape{c.shape[0], c.shape[1], c.height, c.width}));
    EXPECT_EQ(rig.top(0).data_vector(), y);
    EXPECT_EQ(rig.bottom(0).diff_vector(), dx);
  }
}

TEST_P(UpsampleTest, OfPixelsAtOnePlaceTheLastCounts) {
  LayerRig rig(GetParam(), upsample("scale: 2"), {{1, 1, 1, 3}, {1, 1, 1, 3}});
  rig.fill_bottom(0, [](i64 i) { return static_cast<float>(i + 1); });
  rig.fill_bottom(1, [](i64) { return 4.0f; });
  rig.forward();
  rig.fill_top_diff(0, [](i64 i) { return static_cast<float>(i); });
  rig.backward();
  EXPECT_EQ(rig.top(0).data_vector(), (std::vector<float>{0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(rig.bottom(0).diff_vector(), (std::vector<float>{4, 4, 4}));
}

/// As in SegNet: the mask comes from a Pooling that learns, and has no gradient.
TEST_P(UpsampleTest, UndoesPooling) {
  caffe::NetParameter parameter;
  parse_text(R"(
    layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 dim: 6 dim: 8 } } }
    layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c'
            convolution_param { num_output: 4 kernel_size: 1 weight_filler { type: 'xavier' } } }
    layer { name: 'p' type: 'Pooling' bottom: 'c' top: 'p' top: 'm' pooling_param { kernel_size: 2 stride: 2 } }
    layer { name: 'u' type: 'Upsample' bottom: 'p' bottom: 'm' top: 'u' upsample_param { scale: 2 } }
    layer { name: 'r' type: 'Reduction' bottom: 'u' top: 'r' reduction_param { operation: SUMSQ } loss_weight: 1 })",
             "net", parameter);
  Net net(parameter, net_options(GetParam()));
  net.inputs()[0]->write_data(noise_vector(1, net.inputs()[0]->count()).data());
  net.forward();
  net.clear_gradients();
  net.backward();
  const auto c = net.blob("c")->data_vector(), u = net.blob("u")->data_vector(), dc = net.blob("c")->diff_vector();
  int kept = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    EXPECT_TRUE(u[i] == 0 || u[i] == c[i]) << i;
    EXPECT_FLOAT_EQ(dc[i], 2 * u[i]) << i;
    kept += u[i] != 0 ? 1 : 0;
  }
  EXPECT_EQ(kept, 2 * 4 * 3 * 4);
}

TEST_P(UpsampleTest, MistakesAreNamed) {
  expect_refused({{upsample(""), "needs scale where there is no mask"},
                  {upsample("scale: 0"), "upsample_param.scale"},
                  {upsample("scale_h: 2"), "scale_h and scale_w"},
                  {upsample("scale: 2 scale_h: 2 scale_w: 2"), "takes scale, or"},
                  {upsample("scale: 2 pad_out_h: true"), "with a mask only"},
                  {upsample("scale: 2 upsample_h: 4 upsample_w: 4"), "with a mask only"}},
                 {{1, 2, 2, 2}});
  expect_refused({{upsample("scale: 2"), "N x C x H x W"}}, {{2, 2}});
  expect_refused({{upsample("upsample_h: 4"), "both upsample_h and upsample_w"},
                  {upsample("upsample_h: 0 upsample_w: 4"), "must be positive"},
                  {upsample("scale: 3 pad_out_w: true"), "scale: 2 only"}},
                 {{1, 2, 2, 2}, {1, 2, 2, 2}});
  expect_refused({{upsample("scale: 2"), "the mask, has shape"}}, {{1, 2, 2, 2}, {1, 2, 2, 3}});
  for (const float wrong : {16.0f, -1.0f, 0.5f, std::numeric_limits<float>::quiet_NaN()}) {
    LayerRig rig(GetParam(), upsample("scale: 2"), {{1, 2, 2, 2}, {1, 2, 2, 2}});
    rig.fill_bottom(1, [&](i64 i) { return i % 4 == 3 ? wrong : static_cast<float>(i); });
    const std::string said = message_of([&] { rig.forward(); });
    EXPECT_NE(said.find("layer 'u': 2 values of its second bottom, the mask"), std::string::npos) << said;
  }
}

std::string interp(const std::string& options) {
  return "name: \"u\" type: \"Interp\" interp_param { " + options + " }";
}

TEST_P(UpsampleTest, InterpIsTheOracle) {
  struct Case {
    std::string options;
    Shape shape;
    oracle::Interp oracle;
  };
  for (const Case& c : {Case{"height: 7 width: 11", {2, 3, 4, 5}, {6, 4, 5, 0, 4, 5, 7, 11}},
                        Case{"height: 3 width: 2", {1, 1, 9, 8}, {1, 9, 8, 0, 9, 8, 3, 2}},
                        Case{"height: 1 width: 1", {1, 2, 3, 4}, {2, 3, 4, 0, 3, 4, 1, 1}},
                        Case{"height: 6 width: 5", {1, 2, 1, 1}, {2, 1, 1, 0, 1, 1, 6, 5}},
                        Case{"height: 4 width: 5", {1, 2, 4, 5}, {2, 4, 5, 0, 4, 5, 4, 5}},
                        Case{"zoom_factor: 8", {1, 2, 5, 6}, {2, 5, 6, 0, 5, 6, 33, 41}},
                        Case{"shrink_factor: 2", {1, 2, 9, 8}, {2, 9, 8, 0, 9, 8, 5, 4}},
                        Case{"shrink_factor: 2 zoom_factor: 3", {1, 2, 9, 9}, {2, 9, 9, 0, 9, 9, 13, 13}},
                        Case{"zoom_factor: 2 pad_beg: -1 pad_end: -2", {2, 1, 7, 8}, {2, 7, 8, 1, 4, 5, 7, 9}},
                        Case{"height: 3 width: 5003", {1, 1, 2, 40}, {1, 2, 40, 0, 2, 40, 3, 5003}},
                        Case{"height: 3 width: 40", {1, 1, 2, 5003}, {1, 2, 5003, 0, 2, 5003, 3, 40}},
                        Case{"height: 2 width: 2", {0, 1, 2, 2}, {0, 2, 2, 0, 2, 2, 2, 2}}}) {
    SCOPED_TRACE(to_string(c.shape) + c.options);
    LayerRig rig(GetParam(), interp(c.options), {c.shape});
    rig.forward();
    rig.fill_top_diff(0, [](i64 i) { return noise(9, i); });
    rig.backward();
    EXPECT_EQ(rig.top(0).shape(), (Shape{c.shape[0], c.shape[1], c.oracle.out_h, c.oracle.out_w}));
    expect_near(rig.top(0).data_vector(), c.oracle.forward(rig.bottom(0).data_vector()), 1e-3f, 1e-4f);
    expect_near(rig.bottom(0).diff_vector(), c.oracle.backward(rig.top(0).diff_vector()), 2e-3f, 1e-3f);
  }
}

TEST_P(UpsampleTest, InterpTakesASecondBottomsSizes) {
  LayerRig rig(GetParam(), "name: \"u\" type: \"Interp\"", {{1, 2, 3, 4}, {5, 1, 6, 7}});
  rig.forward();
  EXPECT_EQ(rig.top(0).shape(), (Shape{1, 2, 6, 7}));
  expect_near(rig.top(0).data_vector(), oracle::Interp{2, 3, 4, 0, 3, 4, 6, 7}.forward(rig.bottom(0).data_vector()),
              1e-5f, 1e-5f);
}

TEST_P(UpsampleTest, InterpsGradientsAreSlopes) {
  for (const char* const options : {"height: 5 width: 3", "zoom_factor: 2 pad_beg: -1"})
    LayerRig(GetParam(), interp(options), {{1, 2, 3, 4}}).check_gradients();
}

TEST_P(UpsampleTest, InterpsMistakesAreNamed) {
  const Shape shape = {1, 2, 3, 4};
  expect_refused({{interp(""), "needs height and width, zoom_factor or shrink_factor"},
                  {interp("height: 3"), "needs height and width"},
                  {interp("height: 3 width: -1"), "must be positive"},
                  {interp("zoom_factor: 0"), "zoom_factor"},
                  {interp("shrink_factor: -2"), "shrink_factor"},
                  {interp("zoom_factor: 2 pad_beg: 1"), "pad_beg"},
                  {interp("zoom_factor: 2 pad_beg: -2 pad_end: -1"), "leave nothing"}},
                 {shape});
  expect_refused({{interp("zoom_factor: 2"), "N x C x H x W"}}, {{2, 2}});
  expect_refused({{interp("zoom_factor: 2"), "second bottom"}}, {shape, shape});
}

INSTANTIATE_TEST_SUITE_P(Backends, UpsampleTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::upsample_test
