// Convolutions over one and three spatial axes, Deconvolution, Im2col, and SPP.
#include "core/base/error.h"
#include "layers/convolution/convolution.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::volume_test {
namespace {

/// Calls f(index in the large array, index in the weights, index in the small array) for every product of a convolution
/// from N x C x `large` to N x O x `small`: the definition, for any number of axes.
template <class F>
void for_each_product(i64 n, i64 c, i64 o, i64 groups, const Shape& large, const Shape& small, const SlidingWindow& w,
                      F f) {
  const i64 inputs = count_of(large), outputs = count_of(small), taps = count_of(w.kernel);
  for (i64 image = 0; image < n; ++image)
    for (i64 out = 0; out < o; ++out)
      for (i64 at = 0; at < outputs; ++at)
        for (i64 i = 0; i < c / groups; ++i)
          for (i64 tap = 0; tap < taps; ++tap) {
            i64 from = 0, pitch = 1, rest_at = at, rest_tap = tap;
            bool inside = true;
            for (std::size_t d = large.size(); d-- > 0;) {
              const i64 x = rest_at % small[d] * w.stride[d] - w.pad[d] + rest_tap % w.kernel[d] * w.dilation[d];
              inside = inside && x >= 0 && x < large[d];
              from += x * pitch;
              pitch *= large[d], rest_at /= small[d], rest_tap /= w.kernel[d];
            }
            const i64 channel = out / (o / groups) * (c / groups) + i;
            if (inside)
              f(static_cast<std::size_t>((image * c + channel) * inputs + from),
                static_cast<std::size_t>((out * (c / groups) + i) * taps + tap),
                static_cast<std::size_t>((image * o + out) * outputs + at));
          }
}

struct Case {
  std::string parameter;
  Shape bottom;
  i64 outputs;
};

std::string text_of(const std::string& type, const Case& c) {
  return "name: \"c\" type: \"" + type + "\" convolution_param { num_output: " + std::to_string(c.outputs) + " " +
         c.parameter + " weight_filler { type: \"uniform\" min: -1 max: 1 } bias_filler { type: \"uniform\" } }";
}

class VolumeTest : public ::testing::TestWithParam<std::string> {
 protected:
  /// Compares a layer in all directions; `turned` for a deconvolution.
  void compare(const std::string& type, const Case& c, bool turned) {
    SCOPED_TRACE(type + " " + c.parameter + " on " + to_string(c.bottom));
    LayerRig rig(GetParam(), text_of(type, c), {c.bottom});
    rig.forward();
    rig.fill_top_diff(0, [](i64 i) { return noise(5, i); });
    rig.backward();
    const auto& p = rig.layer().parameter().convolution_param();
    const int axis = rig.bottom(0).canonical_axis(p.axis());
    const auto window = read_window(rig.layer(), p, rig.bottom(0).axes() - axis - 1);
    const Blob &bottom = rig.bottom(0), &top = rig.top(0), &large = turned ? top : bottom,
               &small = turned ? bottom : top;
    const Shape in = spatial_sizes(large, window.axes()), out = spatial_sizes(small, window.axes());
    const auto x = bottom.data_vector(), w = rig.blob(0).data_vector(), bias = rig.blob(1).data_vector(),
               dy = top.diff_vector();
    std::vector<double> y(dy.size()), dx(x.size()), dw(w.size()), db(bias.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t k = i / static_cast<std::size_t>(top.count(axis + 1)) % bias.size();
      y[i] = double{bias[k]};
      db[k] += double{dy[i]};
    }
    for_each_product(bottom.count(0, axis), large.dim(axis), small.dim(axis), p.group(), in, out, window,
                     [&](std::size_t l, std::size_t k, std::size_t s) {
                       const std::size_t from = turned ? s : l, to = turned ? l : s;
                       y[to] += double{x[from]} * double{w[k]};
                       dx[from] += double{dy[to]} * double{w[k]};
                       dw[k] += double{dy[to]} * double{x[from]};
                     });
    expect_near(top.data_vector(), {y.begin(), y.end()}, 1e-5f, 1e-4f);
    expect_near(bottom.diff_vector(), {dx.begin(), dx.end()}, 1e-5f, 1e-4f);
    expect_near(rig.blob(0).diff_vector(), {dw.begin(), dw.end()}, 1e-4f, 1e-4f);
    expect_near(rig.blob(1).diff_vector(), {db.begin(), db.end()}, 1e-4f, 1e-4f);
  }
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"kernel_size: 3 stride: 2 pad: 1", {2, 3, 11}, 4},
      {"kernel_size: 2", {1, 1, 2}, 1},
      {"kernel_size: 3 stride: 2 pad: 1", {2, 3, 5, 6}, 4},
      {"kernel_size: 4 stride: 2 pad: 1 group: 2", {1, 6, 5, 4}, 4},
      {"kernel_size: 3 dilation: 2 pad: 2", {1, 2, 7, 9}, 3},
      {"kernel_size: 3 pad: 1", {2, 3, 4, 5, 6}, 2},
      {"kernel_size: 1 kernel_size: 2 kernel_size: 3 stride: 2 stride: 1 stride: 1 pad: 0 pad: 1 pad: 1 dilation: 1 "
       "dilation: 2 dilation: 1",
       {1, 4, 5, 6, 7},
       6},
      {"kernel_size: 3 stride: 2 pad: 1 group: 2", {2, 4, 5, 3, 6}, 2},
      {"kernel_size: 2", {1, 2, 2, 3, 2, 3}, 2},
      {"kernel_size: 3 pad_w: 1", {1, 2, 4, 5}, 2},
      {"axis: 2 kernel_size: 3 stride: 2 pad: 1", {2, 3, 4, 5, 6}, 3},
      {"axis: -2 kernel_size: 2 group: 2", {2, 3, 4, 5}, 2},
      {"axis: 0 kernel_size: 2", {3, 2, 3, 4}, 2},
      {"kernel_size: 3", {5, 4}, 3},
  };
  return all;
}

TEST_P(VolumeTest, ConvolutionIsTheDefinition) {
  for (const Case& c : cases()) compare("Convolution", c, false);
}

TEST_P(VolumeTest, DeconvolutionIsTheDefinition) {
  for (const Case& c : cases()) compare("Deconvolution", c, true);
}

TEST_P(VolumeTest, MistakesAreNamed) {
  const auto make = [&](const std::string& type, const std::string& p, const Shape& bottom) {
    LayerRig(GetParam(), text_of(type, {p, bottom, 4}), {bottom});
  };
  EXPECT_THROW(make("Convolution", "axis: 4 kernel_size: 3", {2, 3, 4, 4}), ShapeError);
  EXPECT_THROW(make("Convolution", "kernel_h: 3", {2, 3, 4, 4}), ConfigError);
  EXPECT_THROW(make("Convolution", "kernel_size: 3 kernel_size: 3", {2, 3, 4, 4, 4}), ConfigError);
  EXPECT_THROW(make("Convolution", "kernel_h: 3 kernel_w: 3", {2, 3, 4, 4, 4}), ConfigError);
  EXPECT_THROW(make("Convolution", "kernel_size: 5", {2, 3, 4, 4, 4}), ShapeError);
  EXPECT_THROW(make("Deconvolution", "kernel_size: 1 pad: 3", {2, 3, 4, 4}), ShapeError);
  EXPECT_THROW(make("Deconvolution", "kernel_size: 1 group: 2", {2, 3, 4, 4}), ConfigError);
}

TEST_P(VolumeTest, Im2colIsTheDefinition) {
  for (const Case& c :
       {Case{"kernel_size: 3 stride: 2 pad: 1", {2, 3, 7, 8}, 1}, Case{"kernel_size: 2 dilation: 3", {1, 2, 9}, 1},
        Case{"kernel_size: 3 stride: 2 pad: 1", {2, 3, 5, 4, 6}, 1},
        Case{"axis: 2 kernel_size: 2 dilation: 1 dilation: 2 dilation: 1", {2, 1, 3, 4, 5, 3}, 1},
        Case{"axis: -1", {2, 3}, 1}}) {
    SCOPED_TRACE(c.parameter + " on " + to_string(c.bottom));
    LayerRig rig(GetParam(), text_of("Im2col", c), {c.bottom});
    rig.forward();
    rig.fill_top_diff(0, [](i64 i) { return noise(5, i); });
    rig.backward();
    const auto& p = rig.layer().parameter().convolution_param();
    const int axis = rig.bottom(0).canonical_axis(p.axis());
    const auto window = read_window(rig.layer(), p, rig.bottom(0).axes() - axis - 1);
    const Shape in = spatial_sizes(rig.bottom(0), window.axes()), out = spatial_sizes(rig.top(0), window.axes());
    const i64 channels = rig.bottom(0).dim(axis), taps = count_of(window.kernel);
    const auto x = rig.bottom(0).data_vector(), dy = rig.top(0).diff_vector();
    std::vector<float> y(dy.size()), dx(x.size());
    // A convolution with one group and output per channel, whose products are the columns' entries.
    for_each_product(rig.bottom(0).count(0, axis), channels, channels, channels, in, out, window,
                     [&](std::size_t from, std::size_t k, std::size_t to) {
                       const auto pixels = static_cast<std::size_t>(count_of(out));
                       const std::size_t plane = to / pixels, tap = k % static_cast<std::size_t>(taps);
                       const std::size_t at = (plane * static_cast<std::size_t>(taps) + tap) * pixels + to % pixels;
                       y[at] = x[from];
                       dx[from] += dy[at];
                     });
    EXPECT_EQ(rig.top(0).data_vector(), y);
    expect_near(rig.bottom(0).diff_vector(), dx, 1e-5f, 1e-5f);
  }
}

TEST_P(VolumeTest, SppGradientsAreSlopes) {
  const std::string spp = "name: \"s\" type: \"SPP\" spp_param { pyramid_height: 3 pool: ";
  LayerRig average(GetParam(), spp + "AVE }", {{2, 2, 9, 11}});
  average.check_gradients();
  EXPECT_EQ(average.top(0).shape(), (Shape{2, 2 * 21}));
  LayerRig single(GetParam(), "name: \"s\" type: \"SPP\" spp_param { pyramid_height: 1 pool: AVE }", {{2, 3, 5, 4}});
  single.check_gradients();
  EXPECT_EQ(single.top(0).shape(), (Shape{2, 3, 1, 1}));
  LayerRig(GetParam(), spp + "MAX }", {{1, 2, 9, 11}}).check_gradients(1e-3f, 1e-2f, true);
  EXPECT_THROW(LayerRig(GetParam(), "name: \"s\" type: \"SPP\"", {{1, 2, 9, 11}}), ConfigError);
}

INSTANTIATE_TEST_SUITE_P(Backends, VolumeTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::volume_test
