#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "tests/backends/reference/programs.h"
#include "tests/backends/reference/rig.h"

namespace cortado::test::processor_test {
namespace {

TEST(ReferenceProcessor, FailureNamesProgramLineAndCodeOnce) {
  const auto processor = reference_processor(1);
  CoreGroup& group = processor->group(0);
  PlanBuilder book(group.spec());
  group.launch(FailAt{10, 6}, book.plan(1));
  group.launch(FailAt{10, 2}, book.plan(1));
  const std::string error = wait_error(group);
  EXPECT_NE(error.find("program fail_at"), std::string::npos) << error;
  EXPECT_NE(error.find("line 6 with code 9"), std::string::npos) << error;
  EXPECT_EQ(wait_error(group), "");
}

TEST(ReferenceProcessor, UnlistedProgramIsABug) {
  const auto processor = reference::make_processor({}, {});
  PlanBuilder book(processor->group(0).spec());
  EXPECT_THROW(processor->group(0).launch(FailAt{1, 1}, book.plan(1)), BugError);
}

TEST(ReferenceProcessor, PlansThatDoNotFitAreRefused) {
  const auto processor = reference_processor(1);
  CoreGroup& group = processor->group(0);
  PlanBuilder book(group.spec());
  book.line<float>("a", 32, 2);
  book.tile<float>("b", 32, 1);
  const Plan good = book.plan(1);
  const auto launch = [&](const Plan& plan) { group.launch(FailAt{1, 1}, plan); };
  EXPECT_NO_THROW(launch(good));
  Plan large = good, short_of = good, overlap = good, no_slot = good;
  large.scratch_bytes = group.spec().scratch_bytes + 1;
  short_of.scratch_bytes = 300;
  overlap.bookings[1].place.offset = 128;
  no_slot.bookings[0].place.slots = 0;
  for (const Plan& plan : {large, short_of, overlap, no_slot}) EXPECT_THROW(launch(plan), PlanError);
}

TEST(ReferenceProcessor, FreshMemoryIsNotANumber) {
  const auto processor = reference_processor(1);
  CoreGroup& group = processor->group(0);
  ClusterMemory memory(group, 100);
  EXPECT_TRUE(std::isnan(memory.as<float>()[24]));
  group.zero(memory.get(), 100);
  EXPECT_EQ(memory.as<float>()[24], 0.0f);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % 128, 0u);
}

TEST(ReferenceProcessor, CoreGroupsRunTogetherAndMeet) {
  const auto processor = reference_processor(2, 4);
  ASSERT_EQ(processor->core_groups(), 4);
  std::vector<int> before(4), sums(4);
  for (int round = 0; round < 20; ++round) {
    processor->run([&](CoreGroup& group, GroupBarrier& barrier) {
      const auto me = static_cast<std::size_t>(group.index());
      PlanBuilder book(group.spec());
      group.launch(FailAt{5, 5}, book.plan(5));
      group.wait();
      before[me] = round + group.index();
      barrier.arrive_and_wait();
      sums[me] = std::accumulate(before.begin(), before.end(), 0);
      barrier.arrive_and_wait();
    });
    EXPECT_EQ(sums, std::vector<int>(4, 4 * round + 6));
  }
}

TEST(ReferenceProcessor, OneFailedGroupReleasesTheOthers) {
  const auto processor = reference_processor(1, 3);
  for (int failing = 0; failing < 3; ++failing) {
    std::string error;
    try {
      processor->run([&](CoreGroup& group, GroupBarrier& barrier) {
        PlanBuilder book(group.spec());
        group.launch(FailAt{4, group.index() == failing ? 3 : 4}, book.plan(4));
        group.wait();
        barrier.arrive_and_wait();
      });
    } catch (const ClusterError& thrown) { error = thrown.what(); }
    EXPECT_NE(error.find("line 3 with code 9"), std::string::npos) << error;
  }
  EXPECT_NO_THROW(processor->run([](CoreGroup&, GroupBarrier& barrier) { barrier.arrive_and_wait(); }));
}

}  // namespace
}  // namespace cortado::test::processor_test
