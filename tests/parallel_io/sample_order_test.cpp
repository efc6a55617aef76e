#include "core/data/sample_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace cortado::test::sample_order_test {
namespace {
using Kind = SampleOrder::Kind;

std::vector<i64> epoch_of(const SampleOrder& order, i64 samples, i64 epoch) {
  std::vector<i64> visited;
  for (i64 i = 0; i < samples; ++i) visited.push_back(order(epoch * samples + i));
  return visited;
}

TEST(Permutation, HitsEveryNumberOnceAndTurnsBack) {
  for (const i64 n : {1, 2, 3, 4, 5, 7, 16, 17, 63, 64, 65, 1000}) {
    const Permutation order(n, 7);
    std::vector<i64> seen;
    for (i64 i = 0; i < n; ++i) {
      seen.push_back(order(i));
      EXPECT_EQ(order.inverse(order(i)), i);
    }
    std::sort(seen.begin(), seen.end());
    for (i64 i = 0; i < n; ++i) ASSERT_EQ(seen[static_cast<std::size_t>(i)], i) << n;
  }
}

/// Means and neighbours as those of a random order: within five standard deviations.
TEST(Permutation, LooksRandom) {
  constexpr i64 n = 10007;
  const Permutation order(n, 3);
  double first_half = 0;
  i64 rising = 0;
  for (i64 i = 0; i < n; ++i) {
    if (i < n / 2) first_half += static_cast<double>(order(i));
    if (i > 0 && order(i) > order(i - 1)) ++rising;
  }
  EXPECT_NEAR(first_half / std::floor(n / 2.0), n / 2.0, 5 * n / std::sqrt(24.0 * n / 2));
  EXPECT_NEAR(static_cast<double>(rising), n / 2.0, 5 * std::sqrt(n / 12.0));
}

TEST(Permutation, NeedsNoMemoryForVeryManySamples) {
  const i64 n = (i64{1} << 40) + 12345;
  const Permutation order(n, 1);
  for (i64 i = 0; i < 1000; ++i) {
    const i64 to = order(i * 1000003);
    ASSERT_GE(to, 0);
    ASSERT_LT(to, n);
    ASSERT_EQ(order.inverse(to), i * 1000003);
  }
}

TEST(SampleOrder, VisitsEverySampleOnceAnEpoch) {
  for (const Kind kind : {Kind::sequential, Kind::shuffled, Kind::blocks})
    for (const i64 samples : {1, 2, 5, 16, 31, 100})
      for (const i64 block : {1, 3, 16, 200}) {
        const SampleOrder order(samples, kind, 9, block);
        for (const i64 epoch : {0, 1, 5}) {
          auto visited = epoch_of(order, samples, epoch);
          std::sort(visited.begin(), visited.end());
          for (i64 i = 0; i < samples; ++i) ASSERT_EQ(visited[static_cast<std::size_t>(i)], i);
        }
      }
}

TEST(SampleOrder, EpochsAndSeedsDiffer) {
  for (const Kind kind : {Kind::shuffled, Kind::blocks}) {
    const SampleOrder order(100, kind, 1, 10), other(100, kind, 2, 10);
    EXPECT_NE(epoch_of(order, 100, 0), epoch_of(order, 100, 1));
    EXPECT_NE(epoch_of(order, 100, 0), epoch_of(other, 100, 0));
    EXPECT_EQ(epoch_of(order, 100, 3), epoch_of(SampleOrder(100, kind, 1, 10), 100, 3));
  }
}

TEST(SampleOrder, BlocksStayTogetherAndAreShuffledWithin) {
  constexpr i64 samples = 103, block = 10;
  const auto visited = epoch_of(SampleOrder(samples, Kind::blocks, 4, block), samples, 2);
  std::set<i64> finished;
  i64 current = -1, rising = 0;
  for (std::size_t i = 0; i < visited.size(); ++i) {
    if (visited[i] / block != current) {
      EXPECT_TRUE(finished.insert(visited[i] / block).second) << "a block is visited twice";
      current = visited[i] / block;
    } else {
      rising += visited[i] > visited[i - 1] ? 1 : 0;
    }
  }
  EXPECT_EQ(finished.size(), 11u);
  EXPECT_GT(rising, 20);
  EXPECT_LT(rising, 72);
}

/// What ranks of any number read together is what one rank reads, with more ranks than samples too.
TEST(SampleOrder, GlobalBatchesDoNotDependOnTheNumberOfRanks) {
  constexpr i64 samples = 5, global = 12;
  for (const Kind kind : {Kind::sequential, Kind::shuffled, Kind::blocks}) {
    const SampleOrder order(samples, kind, 1, 2);
    std::vector<i64> alone, together;
    for (i64 i = 0; i < global; ++i) alone.push_back(order(global + i));
    for (i64 rank = 0; rank < 12; ++rank) together.push_back(order(global + rank));  // a batch of 1 on each of 12 ranks
    EXPECT_EQ(alone, together);
  }
}

}  // namespace
}  // namespace cortado::test::sample_order_test
