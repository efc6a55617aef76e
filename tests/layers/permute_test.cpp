// Layers that move values to other places: Permute, ShuffleChannel.

#include "core/base/error.h"
#include "layers/permute/oracle.h"
#include "tests/support/layer_rig.h"
#include "tests/support/message_of.h"

namespace cortado::test::permute_test {
namespace {

class PermuteTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::string complaint(const std::string& text, const Shape& shape) const {
    return message_of([&] { LayerRig(GetParam(), text, {shape}); });
  }
};

std::string permute(const std::vector<int>& order) {
  std::string text = "name: \"p\" type: \"Permute\" permute_param {";
  for (const int axis : order) text += " order: " + std::to_string(axis);
  return text + " }";
}

/// Forward takes value source[i] to place i, backward takes it back.
void expect_moves(LayerRig& rig, const std::vector<std::size_t>& source) {
  rig.forward();
  rig.fill_top_diff(0, [](i64 i) { return noise(9, i); });
  rig.backward();
  const auto x = rig.bottom(0).data_vector(), dy = rig.top(0).diff_vector();
  std::vector<float> y, dx(x.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    y.push_back(x[source[i]]);
    dx[source[i]] = dy[i];
  }
  EXPECT_EQ(rig.top(0).data_vector(), y);
  EXPECT_EQ(rig.bottom(0).diff_vector(), dx);
}

TEST_P(PermuteTest, IsTheOracle) {
  struct Case {
    Shape shape;
    std::vector<int> order;
  };
  const std::vector<Case> cases = {
      {{2, 5, 3, 7}, {0, 2, 3, 1}},
      {{1, 1, 4, 3}, {0, 2, 3, 1}},
      {{2, 3, 4, 5}, {3, 2, 1, 0}},
      {{2, 3, 4, 5}, {1, 0, 2, 3}},
      {{2, 3, 4, 5}, {0, 1, 3, 2}},
      {{2, 3, 4, 5}, {0, 1, 2, 3}},
      {{7}, {0}},
      {{1, 1, 1}, {2, 0, 1}},
      {{2, 130, 1, 70}, {0, 2, 3, 1}},
      {{3, 2, 2, 3, 2, 2}, {5, 0, 3, 1, 4, 2}},
      {{2, 3000}, {1, 0}},
      {{2, 0, 3}, {2, 1, 0}},
      {{1, 2, 5000, 2}, {0, 2, 1, 3}},
      {{2, 3, 2, 2, 2, 2, 2, 3}, {7, 5, 3, 1, 6, 4, 2, 0}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(to_string(c.shape) + permute(c.order));
    LayerRig rig(GetParam(), permute(c.order), {c.shape});
    expect_moves(rig, oracle::permuted(c.shape, c.order));
    for (std::size_t d = 0; d < c.order.size(); ++d)
      EXPECT_EQ(rig.top(0).dim(static_cast<int>(d)), c.shape[static_cast<std::size_t>(c.order[d])]);
  }
}

TEST_P(PermuteTest, AxesThatAreNotNamedFollow) {
  LayerRig rig(GetParam(), permute({2}), {{2, 3, 4}});
  expect_moves(rig, oracle::permuted({2, 3, 4}, {2, 0, 1}));
  rig.bottom(0).reshape({1, 5, 2});
  expect_moves(rig, oracle::permuted({1, 5, 2}, {2, 0, 1}));
}

TEST_P(PermuteTest, WhatCannotBeIsRefusedByName) {
  for (const auto& [text, part] : {std::pair<std::string, const char*>{permute({0, 4}), "order names axis 4"},
                                   {permute({1, 1}), "axis 1 twice"}}) {
    const std::string said = complaint(text, {2, 3, 4, 5});
    EXPECT_NE(said.find("layer 'p'"), std::string::npos) << said;
    EXPECT_NE(said.find(part), std::string::npos) << said;
  }
  EXPECT_NE(complaint(permute({}), Shape(9, 1)).find("8 axes"), std::string::npos);
}

TEST_P(PermuteTest, GradientsAreSlopes) { LayerRig(GetParam(), permute({0, 2, 1}), {{2, 3, 4}}).check_gradients(); }

std::string shuffle(i64 groups) {
  return "name: \"s\" type: \"ShuffleChannel\" shuffle_channel_param { group: " + std::to_string(groups) + " }";
}

TEST_P(PermuteTest, ShuffledChannelsAreTheOracle) {
  struct Case {
    i64 groups;
    Shape shape;
  };
  for (const Case& c : {Case{3, {2, 12, 5, 3}}, Case{1, {1, 4, 3, 3}}, Case{4, {2, 4, 1, 1}}, Case{1, {1, 1, 2, 2}},
                        Case{2, {3, 6}}, Case{8, {1, 240, 7, 7}}, Case{2, {0, 4, 2, 2}}}) {
    SCOPED_TRACE(to_string(c.shape) + shuffle(c.groups));
    LayerRig rig(GetParam(), shuffle(c.groups), {c.shape});
    const i64 width = c.shape.size() > 2 ? c.shape[2] * c.shape[3] : 1, of_group = c.shape[1] / c.groups;
    std::vector<std::size_t> source;
    for (i64 n = 0; n < c.shape[0]; ++n)
      for (i64 j = 0; j < of_group; ++j)
        for (i64 g = 0; g < c.groups; ++g)
          for (i64 i = 0; i < width; ++i)
            source.push_back(static_cast<std::size_t>((n * c.shape[1] + g * of_group + j) * width + i));
    expect_moves(rig, source);
    EXPECT_EQ(rig.top(0).shape(), c.shape);
  }
}

TEST_P(PermuteTest, GroupsThatCannotBeAreRefused) {
  for (const i64 groups : {0, 5}) {
    const std::string said = complaint(shuffle(groups), {1, 12, 2, 2});
    for (const char* const part : {"layer 's'", "shuffle_channel_param.group", "12 channels"})
      EXPECT_NE(said.find(part), std::string::npos) << said;
  }
  EXPECT_NE(complaint(shuffle(1), {3}).find("N x C"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Backends, PermuteTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::permute_test
