// PriorBox: the boxes of SSD's fork.

#include <cmath>

#include "core/base/error.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::prior_box_test {
namespace {

class PriorBoxTest : public ::testing::TestWithParam<std::string> {
 protected:
  /// Of a map on an image.
  std::vector<float> priors(const std::string& options, const Shape& map, const Shape& image) const {
    LayerRig rig(GetParam(), text(options), {map, image});
    rig.forward();
    return rig.top(0).data_vector();
  }
  static std::string text(const std::string& options) {
    return "name: \"b\" type: \"PriorBox\" prior_box_param { " + options + " }";
  }
};

TEST_P(PriorBoxTest, BoxesOfAPixelInTheirOrder) {
  LayerRig rig(GetParam(),
               text("min_size: 30.5 max_size: 60 aspect_ratio: 2 aspect_ratio: 1 aspect_ratio: 2 clip: false "
                    "variance: 0.1 variance: 0.1 variance: 0.2 variance: 0.3"),
               {{3, 7, 1, 1}, {3, 3, 100, 200}});
  rig.forward();
  EXPECT_EQ(rig.top(0).shape(), (Shape{1, 2, 4 * 4}));
  const auto all = rig.top(0).data_vector();
  const double root = std::sqrt(2.0), large = std::sqrt(1800.0);
  std::vector<float> wanted;
  for (const auto& [w, h] :
       {std::pair<double, double>{30, 30}, {large, large}, {30 * root, 30 / root}, {30 / root, 30 * root}})
    for (const int side : {-1, 1}) {
      wanted.push_back(static_cast<float>((100 + side * w / 2) / 200));
      wanted.push_back(static_cast<float>((50 + side * h / 2) / 100));
    }
  for (int box = 0; box < 4; ++box)
    for (const float v : {0.1f, 0.1f, 0.2f, 0.3f}) wanted.push_back(v);
  expect_near(all, wanted, 1e-6f, 1e-6f);
}

TEST_P(PriorBoxTest, PixelsInTheirOrder) {
  const auto all = priors("min_size: 2 flip: false step_h: 10 step_w: 20 offset: 0.25", {1, 1, 2, 3}, {1, 3, 40, 80});
  ASSERT_EQ(all.size(), 2u * 2 * 3 * 4);
  for (int row = 0; row < 2; ++row)
    for (int col = 0; col < 3; ++col) {
      const auto at = static_cast<std::size_t>(4 * (3 * row + col));
      EXPECT_NEAR(all[at], (20 * (col + 0.25) - 1) / 80, 1e-6);
      EXPECT_NEAR(all[at + 1], (10 * (row + 0.25) - 1) / 40, 1e-6);
      EXPECT_NEAR(all[at + 3], (10 * (row + 0.25) + 1) / 40, 1e-6);
      EXPECT_EQ(all[24 + at], 0.1f) << "the variance that there is without one";
    }
}

TEST_P(PriorBoxTest, SizesAreGivenOrTheImages) {
  const Shape map = {1, 1, 4, 4}, image = {1, 3, 64, 64};
  const auto wanted = priors("min_size: 8 aspect_ratio: 3", map, image);
  EXPECT_EQ(priors("min_size: 8 aspect_ratio: 3 img_size: 64", map, {1, 3, 9, 9}), wanted);
  EXPECT_EQ(priors("min_size: 8 aspect_ratio: 3 img_h: 64 img_w: 64 step: 16", map, {1, 3, 9, 9}), wanted);
  EXPECT_EQ(wanted.size(), 2u * 16 * 3 * 4);
  EXPECT_EQ(priors("min_size: 8 min_size: 9", map, image).size(), 2u * 16 * 2 * 4);
}

TEST_P(PriorBoxTest, ClippedBoxesStayInTheImage) {
  const auto all = priors("min_size: 64 clip: true", {1, 1, 2, 2}, {1, 3, 32, 32});
  EXPECT_EQ(std::vector<float>(all.begin(), all.begin() + 4), (std::vector<float>{0, 0, 1, 1}));
}

TEST_P(PriorBoxTest, MistakesAreNamed) {
  for (const auto& [options, part] : {std::pair<const char*, const char*>{"", "needs min_size"},
                                      {"min_size: 0", "min_size must be"},
                                      {"min_size: 3 max_size: 3", "max_size"},
                                      {"min_size: 3 max_size: 4 max_size: 5", "2 max_size for 1"},
                                      {"min_size: 3 aspect_ratio: 0", "aspect_ratio"},
                                      {"min_size: 3 variance: 1 variance: 2", "2 variances"},
                                      {"min_size: 3 variance: -1", "variance must"},
                                      {"min_size: 3 img_size: 3 img_h: 3 img_w: 3", "img_size, or"},
                                      {"min_size: 3 img_h: 3", "both img_h and img_w"},
                                      {"min_size: 3 img_size: 0", "must have a size"},
                                      {"min_size: 3 step: 3 step_h: 3 step_w: 3", "step, or"},
                                      {"min_size: 3 step_w: 3", "both step_h and step_w"},
                                      {"min_size: 3 step: 0", "step must"}}) {
    std::string said;
    try {
      priors(options, {1, 1, 2, 2}, {1, 3, 8, 8});
    } catch (const ConfigError& error) { said = error.what(); }
    EXPECT_NE(said.find("layer 'b': prior_box_param"), std::string::npos) << options << ": " << said;
    EXPECT_NE(said.find(part), std::string::npos) << options << ": " << said;
  }
  EXPECT_THROW(priors("min_size: 3", {1, 2}, {1, 3, 8, 8}), ShapeError);
  EXPECT_THROW(priors("min_size: 3", {1, 1, 0, 2}, {1, 3, 8, 8}), ShapeError);
}

INSTANTIATE_TEST_SUITE_P(Backends, PriorBoxTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::prior_box_test
