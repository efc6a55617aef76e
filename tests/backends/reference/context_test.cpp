#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/base/random.h"
#include "tests/backends/reference/programs.h"
#include "tests/backends/reference/rig.h"

namespace cortado::test::context_test {
namespace {

using Order = std::vector<std::string>;

class ReferenceContext : public ::testing::TestWithParam<int> {};

TEST_P(ReferenceContext, DepthTwoFetchesTheNextBeforeTheWork) {
  const auto processor = reference_processor(GetParam());
  CoreGroup& group = processor->group(0);
  PlanBuilder book(group.spec());
  const auto order_of = [&](i64 n, Depth depth, bool by_lines) {
    Order order;
    group.launch(OrderProbe{&order, n, depth, by_lines}, book.plan(1));  // one work item: one CPE
    group.wait();
    return order;
  };
  for (const bool by_lines : {false, true}) {
    EXPECT_EQ(order_of(3, Depth::one, by_lines), (Order{"f0", "w0", "f1", "w1", "f2", "w2"}));
    EXPECT_EQ(order_of(3, Depth::two, by_lines), (Order{"f0", "f1", "w0", "f2", "w1", "w2"}));
    EXPECT_EQ(order_of(1, Depth::two, by_lines), (Order{"f0", "w0"}));
    EXPECT_EQ(order_of(0, Depth::two, by_lines), Order{});
  }
}

TEST_P(ReferenceContext, LinesAreSpreadOverAllCpes) {
  const auto processor = reference_processor(GetParam());
  CoreGroup& group = processor->group(0);
  PlanBuilder book(group.spec());
  Order order;
  group.launch(OrderProbe{&order, 11, Depth::two, true}, book.plan(11));
  group.wait();
  EXPECT_EQ(order.size(), 22u);
  for (int i = 0; i < 11; ++i) EXPECT_EQ(std::count(order.begin(), order.end(), "w" + std::to_string(i)), 1) << i;
}

TEST_P(ReferenceContext, FoldGoesFromLeftToRight) {
  const auto processor = reference_processor(GetParam());
  CoreGroup& group = processor->group(0);
  for (const i64 n : {0, 1, 2, 3, 100, 257}) {
    ClusterMemory x(group, 2048), y(group, 4);
    float expected = 1.0f;
    for (i64 i = 0; i < n; ++i) {
      x.as<float>()[i] = random_uniform(1, static_cast<std::uint64_t>(i)) - 0.4f;
      expected += x.as<float>()[i];
    }
    PlanBuilder book(group.spec());
    const LeftFold program{x.as<float>(), y.as<float>(), n, book.line<float>("in", n, 1),
                           book.line<float>("out", 1, 1)};
    group.launch(program, book.plan(1));
    group.wait();
    EXPECT_EQ(*y.as<float>(), expected) << n;
  }
}

TEST_P(ReferenceContext, LaneLoopsVisitEachIterationOnce) {
  const auto processor = reference_processor(GetParam());
  CoreGroup& group = processor->group(0);
  PlanBuilder book(group.spec());
  for (const i64 n : {1, 2, 3, 4, 31, 64, 65}) {
    const auto size = static_cast<std::size_t>(n);
    std::vector<int> each(size), block(3 * size);
    group.launch(LanesProbe{each.data(), block.data(), n}, book.plan(1));
    group.wait();
    EXPECT_EQ(each, std::vector<int>(size, 1)) << n;
    EXPECT_EQ(block, std::vector<int>(3 * size, 1)) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Lanes, ReferenceContext, ::testing::Values(1, 2, 3, 32));

}  // namespace
}  // namespace cortado::test::context_test
