#include "core/base/error.h"
#include "layers/elementwise/oracle.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::elementwise_test {
namespace {

using oracle::ElementwiseFunction;

std::string text_of(const ElementwiseFunction& f) { return "name: \"e\" type: \"" + f.type + "\" " + f.options; }

std::vector<float> applied(const std::function<double(double)>& f, const std::vector<float>& x) {
  std::vector<float> y;
  for (const float v : x) y.push_back(static_cast<float>(f(double{v})));
  return y;
}

std::vector<float> gradient(const ElementwiseFunction& f, const std::vector<float>& x, const std::vector<float>& dy) {
  std::vector<float> dx = applied(f.slope, x);
  for (std::size_t i = 0; i < dx.size(); ++i) dx[i] *= dy[i];
  return dx;
}

class ElementwiseTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ElementwiseTest, IsTheOracle) {
  for (const auto& f : oracle::elementwise_functions())
    for (const Shape& shape : {Shape{1}, Shape{2, 3, 5, 7}, Shape{3, 10007}}) {
      SCOPED_TRACE(text_of(f) + " " + to_string(shape));
      LayerRig rig(GetParam(), text_of(f), {shape});
      rig.fill_bottom(0, [](i64 i) { return i % 11 == 0 ? 0.0f : 1.5f * noise(1, i); });
      rig.forward();
      const auto x = rig.bottom(0).data_vector();
      expect_near(rig.top(0).data_vector(), applied(f.value, x), 1e-6f, 2e-6f);
      if (!f.slope) continue;
      rig.fill_top_diff(0, [](i64 i) { return noise(2, i); });
      rig.backward();
      expect_near(rig.bottom(0).diff_vector(), gradient(f, x, rig.top(0).diff_vector()), 1e-6f, 5e-6f);
    }
}

TEST_P(ElementwiseTest, InPlaceGivesTheSame) {
  for (const auto& f : oracle::elementwise_functions()) {
    SCOPED_TRACE(text_of(f));
    LayerRig rig(GetParam(), text_of(f), {{3, 41}});
    Blob& blob = rig.bottom(0);
    const auto x = blob.data_vector(), dy = noise_vector(5, 3 * 41);
    rig.layer().reshape({&blob}, {&blob});
    rig.layer().forward({&blob}, {&blob});
    expect_near(blob.data_vector(), applied(f.value, x), 1e-6f, 2e-6f);
    if (!f.slope) continue;
    blob.write_diff(dy.data());
    rig.layer().backward({&blob}, {true}, {&blob});
    expect_near(blob.diff_vector(), gradient(f, x, dy), 1e-6f, 5e-6f);
  }
}

/// Where naive formulas overflow or lose all digits.
TEST_P(ElementwiseTest, LargeAndSmallValuesSurvive) {
  const std::vector<float> x = {-200, -88, -20, -1e-4f, -1e-20f, 0, 1e-20f, 1e-4f, 20, 88, 200};
  for (const auto& f : oracle::elementwise_functions()) {
    if (f.type != "Sigmoid" && f.type != "TanH" && f.type != "BNLL" && f.type != "Swish") continue;
    SCOPED_TRACE(f.type);
    LayerRig rig(GetParam(), text_of(f), {{static_cast<i64>(x.size())}});
    rig.bottom(0).write_data(x.data());
    rig.forward();
    expect_near(rig.top(0).data_vector(), applied(f.value, x), 1e-30f, 4e-6f);
  }
}

TEST_P(ElementwiseTest, MistakesAreNamed) {
  const auto make = [&](const std::string& text) { LayerRig(GetParam(), "name: \"e\" type: " + text, {{4}}); };
  EXPECT_THROW(make("\"Exp\" exp_param { base: -2 }"), ConfigError);
  EXPECT_THROW(make("\"Log\" log_param { base: 0 }"), ConfigError);
  EXPECT_THROW(make("\"Log\" log_param { base: 1 }"), ConfigError);
  EXPECT_THROW(make("\"Clip\" clip_param { min: 1 max: 0 }"), ConfigError);
}

INSTANTIATE_TEST_SUITE_P(Backends, ElementwiseTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::elementwise_test
