#include "app/bench/convolution_times.h"

#include <gtest/gtest.h>

namespace cortado::test::convolution_times_test {
namespace {

using D = ConvolutionDirection;

PublishedConvolutions published() {
  PublishedConvolutions p;
  p.layers["a"]["forward"] = {{"implicit", 2.0}, {"explicit", 4.0}};
  p.layers["a"]["weight_gradient"] = {{"explicit", 1.0}};
  p.layers["b"]["forward"] = {{"implicit", 1.0}, {"explicit", 1.05}};
  return p;
}

TEST(ConvolutionTimesTest, EntriesAreByFamilyAndCellsByTheBest) {
  const std::vector<ConvolutionTimes> times = {
      {"a", D::forward, {}, {{"explicit", 3, ""}, {"explicit_tile", 2, ""}, {"implicit", 4, ""}}},
      {"a", D::weight_gradient, {}, {{"explicit", 0, "too large"}, {"implicit", 0.5, ""}}},
      {"b", D::forward, {}, {{"explicit", 2.1, ""}, {"implicit", 8, ""}}},
      {"c", D::forward, {}, {{"implicit", 1, ""}}}};
  const Comparison c = compare(times, published());
  EXPECT_EQ(c.entries, (std::vector<double>{2, 0.5, 8, 2}));  // implicit before explicit, cell by cell
  EXPECT_EQ(c.cells, (std::vector<double>{1, 0.5, 2.1}));
  EXPECT_EQ(c.winners, 1) << "b's entries are within 10 % of each other";
  EXPECT_EQ(c.other_winners, std::vector<std::string>{"a forward"});
  const auto json = c.json();
  EXPECT_NEAR(json["entries"]["geometric_mean"].get<double>(), 2, 1e-12);
  EXPECT_EQ(json["entries"]["within_factor_1.5"], 0.0);
  EXPECT_NEAR(json["cells"]["within_factor_1.5"].get<double>(), 1.0 / 3, 1e-12);
  EXPECT_NEAR(json["cells"]["not_slower"].get<double>(), 2.0 / 3, 1e-12);
}

TEST(ConvolutionTimesTest, NothingPublishedComparesNothing) {
  const Comparison c = compare({{"z", D::forward, {}, {{"implicit", 1, ""}}}}, published());
  EXPECT_TRUE(c.entries.empty());
  EXPECT_TRUE(c.cells.empty());
  EXPECT_EQ(c.winners, 0);
}

TEST(ConvolutionTimesTest, TheShippedTableIsSwcaffesTableII) {
  const PublishedConvolutions p = published_convolutions("vgg16", 128);
  std::size_t cells = 0, entries = 0;
  for (const auto& [layer, directions] : p.layers)
    for (const auto& [direction, plans] : directions) {
      ++cells;
      entries += plans.size();
    }
  EXPECT_EQ(p.layers.size(), 13u);
  EXPECT_EQ(cells, 13u * 3 - 1);             // the gradient of data is not needed
  EXPECT_EQ(entries, cells + 12 + 10 + 10);  // implicit plans by direction
  EXPECT_EQ(p.seconds("conv2_2", "weight_gradient", "implicit"), 2.26);
  EXPECT_FALSE(p.seconds("conv1_1", "forward", "implicit"));
  EXPECT_TRUE(published_convolutions("vgg16", 64).layers.empty());
}

TEST(ConvolutionTimesTest, TheShippedRatesAreSwcaffesTableIII) {
  const PublishedNets all = published_nets("table3"), one = published_nets("resnet50");
  ASSERT_EQ(all.nets.size(), 5u);
  EXPECT_EQ(all.core_groups, 4);
  ASSERT_EQ(one.nets.size(), 1u);
  EXPECT_EQ(one.nets[0].batch, 32);
  EXPECT_EQ(one.nets[0].images_per_s, 5.56);
  EXPECT_TRUE(published_nets("lenet").nets.empty());
}

}  // namespace
}  // namespace cortado::test::convolution_times_test
