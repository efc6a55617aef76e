// The ranks of a test run on one node: they share its clock.
#include "comm/clock_offsets.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/mpi_main.h"

namespace cortado::clock_offsets_test {
namespace {
TEST(ClockOffsets, AreNoMoreThanTheirBoundsOnOneNode) {
  const MpiJob& job = test::job();
  for (int turn = 0; turn < 2; ++turn) {
    const auto offsets = clock_offsets(job.replicas().communicator(), 5);
    if (job.rank() != 0) {
      EXPECT_TRUE(offsets.empty());
      continue;
    }
    ASSERT_EQ(offsets.size(), static_cast<std::size_t>(job.size()));
    EXPECT_EQ(offsets[0].bound, 0);
    for (std::size_t rank = 1; rank < offsets.size(); ++rank) {
      EXPECT_GT(offsets[rank].round_trip, 0);
      EXPECT_LT(offsets[rank].round_trip, 10);
      EXPECT_LE(std::abs(offsets[rank].seconds), offsets[rank].bound + 1e-6) << rank;
    }
  }
}

TEST(ClockOffsets, FollowFromAQuestionAndItsAnswer) {
  const ClockOffset ahead = offset_of(10, 15, 12);
  EXPECT_DOUBLE_EQ(ahead.seconds, 4);
  EXPECT_DOUBLE_EQ(ahead.bound, 1);
  EXPECT_DOUBLE_EQ(ahead.round_trip, 2);
  EXPECT_DOUBLE_EQ(offset_of(10, 5, 12).seconds, -6);
}
}  // namespace
}  // namespace cortado::clock_offsets_test
