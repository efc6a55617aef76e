// Teams whose lanes are fibers: from barrier to barrier one lane runs after the other, in an order that a seed chooses.
#include <gtest/gtest.h>

#include <numeric>

#include "backends/reference/lanes.h"
#include "tests/backends/kokkos/team/cases.h"

namespace cortado::test::fibers_test {
namespace {

/// Seed 0: lanes in order; 1: the last first; others: any order.
std::vector<int> order_of_lanes(int lanes, std::uint64_t seed) {
  std::vector<int> order(static_cast<std::size_t>(lanes));
  std::iota(order.begin(), order.end(), 0);
  if (seed == 1) std::reverse(order.begin(), order.end());
  for (std::size_t i = order.size(); seed > 1 && i > 1; --i) std::swap(order[i - 1], order[random_bits(seed, i) % i]);
  return order;
}

RunTeam in_order(std::uint64_t seed) {
  return [seed](int count, char* scratch, i64 dropped, const std::function<void(TeamMember&)>& body) {
    const auto order = order_of_lanes(count, seed);
    reference::Lanes lanes(count);
    lanes.run([&](int lane) {
      TeamMember member{order[static_cast<std::size_t>(lane)], count, scratch, [&](i64) { lanes.turn(); }, dropped};
      body(member);
    });
  };
}

TEST(LaneTeam, DoesWhatLoopsDoInEveryOrder) {
  for_team_sizes([](auto lanes) {
    for (const i64 n : {i64{0}, i64{1}, i64{lanes} - 1, i64{lanes}, i64{lanes} + 1, 3 * i64{lanes} + 2})
      for (std::uint64_t seed = 0; seed < (lanes > 100 ? 3 : 8); ++seed)
        EXPECT_EQ(wrong_lanes<lanes>(in_order(seed), n), 0) << lanes << " lanes, " << n << " elements, order " << seed;
  });
}

/// A few keep apart what has the same values in any order; races (threads.cpp) show those too.
TEST(LaneTeam, MissingBarriersShowInSomeOrder) {
  constexpr int lanes = 8;
  constexpr i64 n = 4 * lanes;
  i64 barriers = 0, found = 0;
  ASSERT_EQ(wrong_lanes<lanes>(in_order(0), n, -1, &barriers), 0);
  ASSERT_GT(barriers, 20);
  std::string hidden;
  for (i64 dropped = 0; dropped < barriers; ++dropped) {
    int wrong = 0;
    for (std::uint64_t seed = 0; seed < 20 && wrong == 0; ++seed)
      wrong = wrong_lanes<lanes>(in_order(seed), n, dropped);
    if (wrong > 0)
      ++found;
    else
      hidden += " " + std::to_string(dropped);
  }
  EXPECT_GE(4 * found, 3 * barriers) << "not seen are" << hidden;
}

TEST(LaneTeam, TheFirstFailureStays) {
  constexpr int lanes = 3;
  kokkos::Failure failure;
  kokkos::Grant grant;
  grant.label = "program";
  grant.failure = &failure;
  std::vector<char> scratch(kokkos::LaneTeam<TeamMember, lanes>::exchange_bytes);
  in_order(1)(lanes, scratch.data(), -1,
              [&](TeamMember& member) { kokkos::LaneTeam<TeamMember, lanes>(grant, member).fail(5, member.rank); });
  EXPECT_EQ(failure.taken, 1);
  EXPECT_EQ(failure.code, 5);
  EXPECT_EQ(failure.index, lanes - 1);
  EXPECT_STREQ(failure.label, "program");
}

}  // namespace
}  // namespace cortado::test::fibers_test
