// Layers of forks that scale channels: Axpy, Normalize.

#include "layers/axpy/oracle.h"
#include "layers/normalize/oracle.h"
#include "tests/support/layer_rig.h"
#include "tests/support/message_of.h"

namespace cortado::test::normalize_test {
namespace {

class NormalizeTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::string complaint(const std::string& text, const std::vector<Shape>& shapes) const {
    return message_of([&] { LayerRig(GetParam(), text, shapes); });
  }
};

constexpr const char* axpy = "name: \"a\" type: \"Axpy\"";

TEST_P(NormalizeTest, AxpyIsTheOracle) {
  struct Case {
    Shape factors, values;
  };
  for (const Case& c : {Case{{2, 3, 1, 1}, {2, 3, 5, 7}}, Case{{1, 1}, {1, 1, 1, 1}}, Case{{4, 5}, {4, 5}},
                        Case{{2, 2, 1}, {2, 2, 5003}}, Case{{0, 3, 1, 1}, {0, 3, 2, 2}}}) {
    SCOPED_TRACE(to_string(c.values));
    LayerRig rig(GetParam(), axpy, {c.factors, c.values, c.values});
    const i64 rows = count_of(c.factors);
    const oracle::Axpy oracle{rows == 0 ? 1 : count_of(c.values) / rows};
    rig.forward();
    rig.fill_top_diff(0, [](i64 i) { return noise(9, i); });
    rig.backward();
    const auto a = rig.bottom(0).data_vector(), x = rig.bottom(1).data_vector(), b = rig.bottom(2).data_vector(),
               dy = rig.top(0).diff_vector();
    expect_near(rig.top(0).data_vector(), oracle.forward(a, x, b), 1e-6f, 1e-6f);
    expect_near(rig.bottom(0).diff_vector(), oracle.gradient_of_a(x, dy, a.size()), 1e-4f, 1e-5f);
    expect_near(rig.bottom(1).diff_vector(), oracle.gradient_of_x(a, dy), 1e-6f, 1e-6f);
    EXPECT_EQ(rig.bottom(2).diff_vector(), dy);
  }
  LayerRig(GetParam(), axpy, {{2, 3, 1, 1}, {2, 3, 2, 2}, {2, 3, 2, 2}}).check_gradients();
}

TEST_P(NormalizeTest, OnlyAskedGradientsOfAxpyAreWritten) {
  LayerRig rig(GetParam(), axpy, {{1, 1}, {1, 1, 2}, {1, 1, 2}});
  rig.forward();
  rig.fill_top_diff(0, [](i64) { return 1.0f; });
  const std::vector<float> before = {7, 7};
  for (const std::size_t i : {0, 1, 2}) rig.bottom(i).write_diff(before.data());
  rig.backward({false, false, true});
  EXPECT_EQ(rig.bottom(0).diff_vector(), std::vector<float>{7});
  EXPECT_EQ(rig.bottom(1).diff_vector(), before);
  EXPECT_EQ(rig.bottom(2).diff_vector(), (std::vector<float>{1, 1}));
}

TEST_P(NormalizeTest, ShapesThatDoNotFitAxpyAreNamed) {
  const Shape x = {2, 3, 4, 4};
  for (const Shape& a : {Shape{2, 4, 1, 1}, Shape{1, 3, 1, 1}, Shape{2, 3, 4, 1}, Shape{6}}) {
    const std::string said = complaint(axpy, {a, x, x});
    EXPECT_NE(said.find("layer 'a': its first bottom has shape " + to_string(a)), std::string::npos) << said;
  }
  EXPECT_NE(complaint(axpy, {{2, 3}, x, {2, 3, 4, 5}}).find("differ"), std::string::npos);
}

std::string normalize(bool across, bool shared, const std::string& more = "") {
  return std::string("name: \"n\" type: \"Normalize\" norm_param { across_spatial: ") + (across ? "true" : "false") +
         " channel_shared: " + (shared ? "true " : "false ") + more + " }";
}

TEST_P(NormalizeTest, NormalizeIsTheOracle) {
  for (const bool across : {false, true})
    for (const bool shared : {false, true})
      for (const Shape& shape : {Shape{2, 5, 3, 7}, Shape{1, 1, 4, 4}, Shape{3, 17}, Shape{2, 3, 1, 1},
                                 Shape{1, 3, 70, 71}, Shape{2, 1100, 2}, Shape{0, 4, 2, 2}}) {
        LayerRig rig(GetParam(), normalize(across, shared, "scale_filler { type: 'uniform' min: -2 max: 2 } eps: 1e-3"),
                     {shape});
        SCOPED_TRACE(to_string(shape) + (across ? " across" : "") + (shared ? " shared" : ""));
        const i64 inner = shape.size() > 2 ? count_of({shape.begin() + 2, shape.end()}) : 1;
        const oracle::Normalize oracle{shape[0], shape[1], inner, across, 1e-3};
        const auto x = rig.bottom(0).data_vector(), scale = rig.blob(0).data_vector();
        EXPECT_EQ(rig.blob(0).shape(), shared ? Shape{} : Shape{shape[1]});
        rig.forward();
        rig.fill_top_diff(0, [](i64 i) { return noise(9, i); });
        rig.backward();
        const auto wanted = oracle.backward(x, scale, rig.top(0).diff_vector());
        expect_near(rig.top(0).data_vector(), oracle.forward(x, scale), 1e-5f, 1e-4f);
        expect_near(rig.bottom(0).diff_vector(), wanted.x, 1e-4f, 1e-3f);
        expect_near(rig.blob(0).diff_vector(), wanted.scale, 1e-3f, 1e-3f);
      }
}

TEST_P(NormalizeTest, GradientsAreSlopes) {
  for (const bool across : {false, true})
    for (const bool shared : {false, true})
      LayerRig(GetParam(), normalize(across, shared, "scale_filler { type: 'uniform' min: 1 max: 3 }"), {{2, 3, 2, 2}})
          .check_gradients();
}

TEST_P(NormalizeTest, ScaleBeginsWithOne) {
  LayerRig rig(GetParam(), "name: \"n\" type: \"Normalize\"", {{2, 3, 2}});
  EXPECT_EQ(rig.blob(0).data_vector(), std::vector<float>{1});
  rig.fill_bottom(0, [](i64) { return 0.0f; });
  rig.forward();
  EXPECT_EQ(rig.top(0).data_vector(), std::vector<float>(12)) << "eps keeps zeros zero";
}

TEST_P(NormalizeTest, WhatCannotBeNormalizedIsNamed) {
  EXPECT_NE(complaint(normalize(true, true), {{3}}).find("layer 'n': its bottom has shape 3"), std::string::npos);
  EXPECT_NE(complaint(normalize(true, true, "eps: -1"), {{3, 3}}).find("norm_param.eps"), std::string::npos);
  LayerRig rig(GetParam(), normalize(false, false), {{1, 3, 2, 2}});
  rig.bottom(0).reshape({1, 4, 2, 2});
  EXPECT_THROW(rig.forward(), ShapeError);
}

INSTANTIATE_TEST_SUITE_P(Backends, NormalizeTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::normalize_test
