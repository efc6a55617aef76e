// The management side of the Kokkos backend: failures, streams, events, several core groups.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "core/base/error.h"
#include "core/machine/program_key.h"
#include "tests/backends/kokkos/programs.h"
#include "tests/backends/kokkos/rig.h"

namespace cortado::test::processor_test {
namespace {

void launch_affine(CoreGroup& group, const float* x, float* y, i64 n, Stream stream = {}) {
  constexpr i64 block = 100;
  PlanBuilder book(group.spec());
  Affine program{x,
                 y,
                 n,
                 block,
                 book.line<float>("first", 1, 1),
                 book.line<float>("in", block, Depth::two),
                 book.line<float>("out", block, Depth::two)};
  group.launch(program, book.plan((n + block - 1) / block), stream);
}

TEST(KokkosProcessor, SpecDescribesTheMachine) {
  const auto processor = kokkos_processor(1, 2);
  const MachineSpec& spec = processor->group(0).spec();
  EXPECT_GE(spec.cpes, 2);
  EXPECT_GE(spec.scratch_bytes, 32 * 1024);
  EXPECT_GE(spec.simd_bytes, 16);
  EXPECT_FALSE(spec.description.empty());
  EXPECT_EQ(processor->core_groups(), 1);
}

TEST(KokkosProcessor, TheWaitNamesTheFirstFailureAndTheGroupLivesOn) {
  const auto processor = kokkos_processor();
  CoreGroup& group = processor->group(0);
  PlanBuilder book(group.spec());
  group.launch(FailFrom{10, 10}, book.plan(10));
  EXPECT_NO_THROW(group.wait());
  group.launch(FailFrom{10, 9}, book.plan(10));
  group.launch(FailFrom{20, 19}, book.plan(20));
  try {
    group.wait();
    FAIL() << "a failed program must throw at the wait";
  } catch (const ClusterError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("test_fail_from"), std::string::npos) << text;
    EXPECT_NE(text.find("line 9"), std::string::npos) << text;
    EXPECT_NE(text.find("code 7"), std::string::npos) << text;
  }
  EXPECT_NO_THROW(group.wait());
}

/// A program of another backend: it has a key, but no entry in the table.
struct Elsewhere {
  static constexpr const char* label = "test_elsewhere";
  template <class C>
  void operator()(C&) const {}
};

TEST(KokkosProcessor, RefusesProgramsAndPlansItCannotRun) {
  const auto processor = kokkos_processor();
  CoreGroup& group = processor->group(0);
  PlanBuilder book(group.spec());
  EXPECT_THROW(group.launch(Elsewhere{}, book.plan(1)), BugError);
  Plan large = book.plan(1);
  large.scratch_bytes = group.spec().scratch_bytes + 1;
  EXPECT_THROW(group.launch(FailFrom{1, 1}, large), PlanError);
}

TEST(KokkosProcessor, CopyAndZeroReachEveryByte) {
  const auto processor = kokkos_processor();
  CoreGroup& group = processor->group(0);
  for (const std::size_t n : {std::size_t{1}, std::size_t{1000}, std::size_t{3} << 20, (std::size_t{1} << 20) + 13}) {
    std::vector<char> from(n), back(n, 'x');
    for (std::size_t i = 0; i < n; ++i) from[i] = static_cast<char>(i * 31 % 127);
    ClusterMemory memory(group, n);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % 128, 0u);
    group.copy(memory.get(), from.data(), n);
    group.copy(back.data(), memory.get(), n);
    group.wait();
    EXPECT_EQ(from, back);
    group.zero(memory.get(), n);
    group.copy(back.data(), memory.get(), n);
    group.wait();
    EXPECT_EQ(back, std::vector<char>(n, 0));
  }
}

TEST(KokkosProcessor, StreamsWaitWhereTheyAreOrdered) {
  const auto processor = kokkos_processor();
  CoreGroup& group = processor->group(0);
  const i64 n = 10000;
  const auto host = whole_numbers(11, n);
  Device<float> x(group, host), y(group, std::vector<float>(host.size())), z(group, std::vector<float>(host.size()));
  const Stream other = group.make_stream();
  ASSERT_NE(other.id, Stream{}.id);
  const auto start = group.record();
  launch_affine(group, x.get(), y.get(), n, other);
  group.order(other, Stream{});
  launch_affine(group, y.get(), z.get(), n);
  const auto end = group.record();
  EXPECT_GT(group.seconds_between(start, end), 0.0);
  group.wait();
  const auto result = z.read();
  for (std::size_t i = 0; i < result.size(); ++i) ASSERT_EQ(result[i], 4 * host[i] + 2 * host[0] + 3 * host[0]);
}

TEST(KokkosProcessor, CoreGroupsWorkAtTheSameTimeAndMeetAtTheBarrier) {
  const auto processor = kokkos_processor(2, 2);
  ASSERT_EQ(processor->core_groups(), 2);
  const i64 n = 5000;
  const auto host = whole_numbers(12, n);
  // Group 1 - g reads what group g wrote: right only if both ran and met.
  Device<float> x(processor->group(0), host);
  std::vector<Device<float>> mine, theirs;
  for (int g = 0; g < 2; ++g) {
    mine.emplace_back(processor->group(g), std::vector<float>(host.size()));
    theirs.emplace_back(processor->group(g), std::vector<float>(host.size()));
  }
  for (int repeat = 0; repeat < 3; ++repeat)
    processor->run([&](CoreGroup& group, GroupBarrier& barrier) {
      const auto g = static_cast<std::size_t>(group.index());
      for (int round = 0; round < 20; ++round) {
        launch_affine(group, x.get(), mine[g].get(), n);
        group.wait();
        barrier.arrive_and_wait();
        launch_affine(group, mine[1 - g].get(), theirs[g].get(), n);
        group.wait();
        barrier.arrive_and_wait();
      }
    });
  for (std::size_t g = 0; g < 2; ++g) {
    const auto result = theirs[g].read();
    for (std::size_t i = 0; i < result.size(); ++i) ASSERT_EQ(result[i], 4 * host[i] + 2 * host[0] + 3 * host[0]);
  }
}

TEST(KokkosProcessor, AFailingGroupReleasesTheOthersAndItsErrorComesOut) {
  const auto processor = kokkos_processor(2, 2);
  std::atomic<int> released{0};
  const auto work = [&](CoreGroup& group, GroupBarrier& barrier) {
    if (group.index() == 1) throw ShapeError("group 1", "cannot go on");
    try {
      for (;;) barrier.arrive_and_wait();
    } catch (const PeerError&) {
      ++released;
      throw;
    }
  };
  try {
    processor->run(work);
    FAIL() << "the error must come out of run";
  } catch (const ShapeError& e) { EXPECT_NE(std::string(e.what()).find("cannot go on"), std::string::npos); }
  EXPECT_EQ(released, 1);
  std::atomic<int> sum{0};
  processor->run([&](CoreGroup& group, GroupBarrier& barrier) {
    barrier.arrive_and_wait();
    sum += group.index() + 1;
  });
  EXPECT_EQ(sum, 3) << "the processor can be used again";
}

TEST(KokkosProcessor, AClusterFailureInOneGroupComesOutOfRun) {
  const auto processor = kokkos_processor(2, 2);
  EXPECT_THROW(processor->run([](CoreGroup& group, GroupBarrier& barrier) {
    PlanBuilder book(group.spec());
    group.launch(FailFrom{4, group.index() == 0 ? 2 : 4}, book.plan(4));
    group.wait();
    barrier.arrive_and_wait();
  }),
               ClusterError);
}

}  // namespace
}  // namespace cortado::test::processor_test
