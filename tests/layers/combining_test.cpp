#include <cmath>

#include "core/base/error.h"
#include "tests/support/layer_rig.h"

// BatchNorm, Scale, Eltwise, Concat and LRN: gradients on every backend, in place where allowed, and the mistakes.
// Equality with Caffe's own outputs is tests/golden's.
namespace cortado::test {
namespace {

class CombiningTest : public ::testing::TestWithParam<std::string> {};

std::string layer(const std::string& type, const std::string& rest = "") {
  return "name: \"l\" type: \"" + type + "\" " + rest;
}

TEST_P(CombiningTest, BatchNormNormalisesEveryChannel) {
  for (const Shape& shape : {Shape{3, 5, 7, 9}, Shape{1, 1, 33, 65}, Shape{17, 3}, Shape{40}}) {
    LayerRig rig(GetParam(), layer("BatchNorm"), {shape});
    rig.fill_bottom(0, [](i64 i) { return 1000.0f + 3 * noise(1, i); });
    rig.forward();
    const auto y = rig.top(0).data_vector();
    const i64 channels = shape.size() > 1 ? shape[1] : 1, inner = shape.size() > 1 ? rig.top(0).count(2) : 1;
    for (i64 c = 0; c < channels; ++c) {
      double sum = 0, squares = 0, n = 0;
      for (std::size_t i = 0; i < y.size(); ++i)
        if (static_cast<i64>(i) / inner % channels == c) sum += y[i], squares += double{y[i]} * double{y[i]}, n += 1;
      EXPECT_NEAR(sum / n, 0, 1e-3);
      EXPECT_NEAR(squares / n, 1, 1e-2);
    }
  }
}

TEST_P(CombiningTest, GradientsAreSlopes) {
  LayerRig(GetParam(), layer("BatchNorm"), {{4, 2, 3, 2}}).check_gradients(1e-2f, 2e-2f);
  LayerRig(GetParam(), layer("BatchNorm"), {{6, 3}}).check_gradients(1e-2f, 2e-2f);
  LayerRig(GetParam(), layer("Scale", "scale_param { bias_term: true }"), {{2, 3, 4}}).check_gradients();
  LayerRig(GetParam(), layer("Scale", "scale_param { axis: 0 num_axes: 2 }"), {{2, 3, 4}}).check_gradients();
  LayerRig(GetParam(), layer("Scale"), {{2, 3, 4}, {3}}).check_gradients();
  LayerRig(GetParam(), layer("Scale", "scale_param { num_axes: 0 axis: 0 bias_term: true }"), {{5}}).check_gradients();
  LayerRig(GetParam(), layer("Eltwise", "eltwise_param { coeff: 1 coeff: -2 coeff: 0.5 }"), {{2, 5}, {2, 5}, {2, 5}})
      .check_gradients();
  LayerRig(GetParam(), layer("Eltwise", "eltwise_param { operation: PROD }"), {{7}, {7}, {7}}).check_gradients();
  LayerRig(GetParam(), layer("Eltwise", "eltwise_param { operation: MAX }"), {{9}, {9}, {9}})
      .check_gradients(1e-3f, 1e-2f, true);
  LayerRig(GetParam(), layer("Concat"), {{2, 1, 3}, {2, 4, 3}}).check_gradients();
  LayerRig(GetParam(), layer("Concat", "concat_param { axis: -1 }"), {{2, 3}, {2, 1}, {2, 5}}).check_gradients();
  LayerRig(GetParam(), layer("LRN", "lrn_param { alpha: 0.5 local_size: 3 }"), {{2, 5, 2, 3}}).check_gradients();
  LayerRig(GetParam(), layer("LRN", "lrn_param { alpha: 0.5 local_size: 3 norm_region: WITHIN_CHANNEL }"),
           {{1, 2, 4, 5}})
      .check_gradients();
}

TEST_P(CombiningTest, ScaleInPlaceGivesTheSame) {
  const std::string text =
      layer("Scale", "scale_param { bias_term: true filler { type: \"uniform\" min: -1 max: 1 } }");
  LayerRig apart(GetParam(), text, {{3, 4, 5}}), inside(GetParam(), text, {{3, 4, 5}});
  apart.forward();
  apart.fill_top_diff(0, [](i64 i) { return noise(3, i); });
  apart.backward();
  Blob& blob = inside.bottom(0);
  inside.layer().reshape({&blob}, {&blob});
  inside.layer().forward({&blob}, {&blob});
  EXPECT_EQ(blob.data_vector(), apart.top(0).data_vector());
  blob.write_diff(apart.top(0).diff_vector().data());
  inside.layer().backward({&blob}, {true}, {&blob});
  EXPECT_EQ(blob.diff_vector(), apart.bottom(0).diff_vector());
  EXPECT_EQ(inside.blob(0).diff_vector(), apart.blob(0).diff_vector());
}

TEST_P(CombiningTest, LrnWindowsCrossBlocks) {
  // More rows and pixels than a 64 KiB scratchpad holds at once, against the definition.
  const Shape shape = {1, 3, 150, 61};
  for (const bool across : {true, false}) {
    LayerRig rig(
        GetParam(),
        layer("LRN", across ? "lrn_param { alpha: 0.5 }" : "lrn_param { alpha: 0.5 norm_region: WITHIN_CHANNEL }"),
        {shape});
    rig.forward();
    const auto x = rig.bottom(0).data_vector();
    std::vector<float> expected(x.size());
    for (i64 c = 0; c < 3; ++c)
      for (i64 h = 0; h < 150; ++h)
        for (i64 w = 0; w < 61; ++w) {
          double sum = 0;
          const auto add = [&](i64 cc, i64 hh, i64 ww) {
            if (cc < 0 || cc >= 3 || hh < 0 || hh >= 150 || ww < 0 || ww >= 61) return;
            const double v = x[static_cast<std::size_t>((cc * 150 + hh) * 61 + ww)];
            sum += v * v;
          };
          for (i64 a = -2; a <= 2; ++a)
            for (i64 b = across ? 0 : -2; b <= (across ? 0 : 2); ++b) across ? add(c + a, h, w) : add(c, h + a, w + b);
          const auto at = static_cast<std::size_t>((c * 150 + h) * 61 + w);
          expected[at] = static_cast<float>(x[at] * std::pow(1 + 0.5 / (across ? 5 : 25) * sum, -0.75));
        }
    expect_near(rig.top(0).data_vector(), expected, 1e-6f, 1e-5f);
  }
}

TEST_P(CombiningTest, MistakesAreNamed) {
  EXPECT_THROW(LayerRig(GetParam(), layer("Eltwise"), {{2, 3}, {3, 2}}), ShapeError);
  EXPECT_THROW(LayerRig(GetParam(), layer("Eltwise", "eltwise_param { coeff: 1 }"), {{2}, {2}}), ConfigError);
  EXPECT_THROW(LayerRig(GetParam(), layer("Concat"), {{2, 3, 4}, {2, 3, 5}}), ShapeError);
  EXPECT_THROW(LayerRig(GetParam(), layer("LRN", "lrn_param { local_size: 4 }"), {{1, 2, 3, 3}}), ConfigError);
  EXPECT_THROW(LayerRig(GetParam(), layer("Scale"), {{2, 3}, {4}}), ShapeError);
}

INSTANTIATE_TEST_SUITE_P(Backends, CombiningTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test
