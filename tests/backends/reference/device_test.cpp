// A device without a device: memory that the host does not reach, copies that are late, streams in any allowed order.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/backends/reference/programs.h"
#include "tests/backends/reference/rig.h"

namespace cortado::test::device_test {
namespace {
using Options = reference::Options;
using reference::Haste;

constexpr i64 n = 50;
constexpr std::size_t bytes = n * sizeof(float);

class ReferenceDevice : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  /// Seed 0: late; 1: early; others: any order.
  static Options options(std::uint64_t seed) {
    Options options;
    options.is_device = true;
    options.haste = seed == 0 ? Haste::late : seed == 1 ? Haste::early : Haste::any;
    options.seed = seed;
    return options;
  }
  static std::vector<float> values(float first) {
    std::vector<float> v(n);
    for (i64 i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = first + static_cast<float>(i);
    return v;
  }
  std::vector<float> read(const ClusterMemory& memory) {
    std::vector<float> v(n);
    group_.copy(v.data(), memory.get(), bytes);
    group_.wait();
    return v;
  }
  /// y[0] = 1 + sum of x.
  void sum(const ClusterMemory& x, const ClusterMemory& y, Stream stream) {
    PlanBuilder book(group_.spec());
    const LeftFold program{x.as<float>(), y.as<float>(), n, book.line<float>("in", n, 1),
                           book.line<float>("out", 1, 1)};
    group_.launch(program, book.plan(1), stream);
  }
  void expect_report(const std::vector<std::string>& parts) {
    const std::string error = wait_error(group_);
    for (const std::string& part : parts) EXPECT_NE(error.find(part), std::string::npos) << part << " in: " << error;
    EXPECT_EQ(wait_error(group_), "") << "once";
  }
  bool is_late() const { return GetParam() == 0; }

  std::unique_ptr<Processor> processor_ =
      reference::make_processor(options(GetParam()), reference::reference_test_programs());
  CoreGroup& group_ = processor_->group(0);
  const Stream other_ = group_.make_stream();
  ClusterMemory x_{group_, bytes}, y_{group_, bytes};
};

TEST_P(ReferenceDevice, CopiesAndProgramsComeInOrder) {
  EXPECT_FALSE(group_.spec().host_memory);
  const auto host = values(3);
  group_.copy(x_.get(), host.data(), bytes);
  group_.copy(y_.get(), x_.get(), bytes);
  sum(x_, y_, {});
  auto due = host;
  due[0] = 1;
  for (const float v : host) due[0] += v;
  EXPECT_EQ(read(y_), due);
  group_.zero(x_.get(), bytes);
  EXPECT_EQ(read(x_), std::vector<float>(n));
}

TEST_P(ReferenceDevice, WhatIsCopiedIsThereAfterTheWait) {
  auto host = values(3), back = values(7);
  group_.copy(x_.get(), host.data(), bytes);
  group_.copy(back.data(), x_.get(), bytes);
  if (is_late()) { EXPECT_TRUE(std::isnan(back[5])) << "nobody has waited"; }
  group_.wait();
  EXPECT_EQ(back, host);
}

TEST_P(ReferenceDevice, HostMemoryMayGoFromCopyToCopy) {
  auto host = values(3), between = values(7);
  group_.copy(x_.get(), host.data(), bytes);
  group_.copy(between.data(), x_.get(), bytes);
  group_.copy(y_.get(), between.data(), bytes);
  EXPECT_EQ(read(y_), host);
}

TEST_P(ReferenceDevice, HostMemoryThatChangesBeforeTheWaitIsReported) {
  auto host = values(3);
  group_.copy(x_.get(), host.data(), bytes);
  host[n - 1] = 0;
  if (is_late())
    expect_report({"a copy of 200 bytes", "has changed since the copy was queued"});
  else
    wait_error(group_);
  group_.copy(x_.get(), host.data(), bytes);
  EXPECT_EQ(read(x_), host) << "the group goes on";
}

/// The feeder's race as it was: the copies' stream waited for the compute stream, which then cleared what they fill.
TEST_P(ReferenceDevice, OperationsWithoutOrderAreReportedInWhateverOrderTheyHappen) {
  const auto host = values(3);
  group_.order(Stream{}, other_);
  group_.zero(x_.get(), bytes);
  group_.copy(x_.get(), host.data(), bytes, other_);
  group_.order(other_, Stream{});
  sum(x_, y_, {});
  expect_report({"zeroing of 200 bytes on stream 0", "a copy of 200 bytes on stream 1", "nothing orders them"});

  group_.zero(x_.get(), bytes);
  group_.order(Stream{}, other_);
  group_.copy(x_.get(), host.data(), bytes, other_);
  group_.order(other_, Stream{});
  EXPECT_EQ(read(x_), host);
}

TEST_P(ReferenceDevice, ProgramsWithoutOrderAreReportedByName) {
  const auto host = values(3);
  group_.copy(x_.get(), host.data(), bytes);
  group_.wait();
  sum(x_, y_, {});
  group_.copy(x_.get(), host.data(), bytes, other_);
  expect_report({"program left_fold on stream 0", "a copy of 200 bytes on stream 1"});

  sum(x_, y_, {});
  std::vector<float> back(n);
  group_.copy(back.data(), x_.get(), bytes, other_);  // both read
  EXPECT_EQ(wait_error(group_), "");
  EXPECT_EQ(back, host);
  group_.copy(back.data(), x_.get(), bytes, other_);
  group_.copy(x_.get(), back.data(), bytes);
  expect_report({"nothing orders them"});
}

TEST_P(ReferenceDevice, EventsWaitForWhatGoesBeforeThem) {
  const auto host = values(3);
  auto first = values(7), second = values(7);
  group_.copy(x_.get(), host.data(), bytes);
  group_.order(Stream{}, other_);
  group_.copy(first.data(), x_.get(), bytes, other_);
  const auto event = group_.record(other_);
  group_.copy(second.data(), x_.get(), bytes, other_);
  EXPECT_EQ(group_.seconds_between(event, event), 0);
  EXPECT_EQ(first, host);
  if (is_late()) { EXPECT_TRUE(std::isnan(second[0])); }
  const auto later = group_.record(other_);
  EXPECT_GE(group_.seconds_between(event, later), 0);
  EXPECT_EQ(second, host);
  group_.zero(x_.get(), bytes);  // what was waited for goes before
  EXPECT_EQ(wait_error(group_), "");
}

TEST_P(ReferenceDevice, ManyRoundsOverTwoStreamsGiveTheSame) {
  std::vector<float> host = values(0), total(n);
  std::vector<std::vector<float>> seen(20, std::vector<float>(n)), due(20);
  for (std::size_t round = 0; round < seen.size(); ++round) {
    const auto own = std::make_unique<std::vector<float>>(values(static_cast<float>(round)));
    group_.order(Stream{}, other_);
    group_.copy(x_.get(), own->data(), bytes, other_);
    const auto copied = group_.record(other_);
    group_.order(other_, Stream{});
    group_.copy(y_.get(), x_.get(), bytes);
    group_.copy(seen[round].data(), y_.get(), bytes);
    due[round] = *own;
    group_.seconds_between(copied, copied);  // before its memory goes
  }
  EXPECT_EQ(wait_error(group_), "");
  EXPECT_EQ(seen, due);
}

TEST_P(ReferenceDevice, FailuresComeAtTheWait) {
  PlanBuilder book(group_.spec());
  group_.launch(FailAt{10, 6}, book.plan(1));
  expect_report({"program fail_at", "line 6 with code 9"});
}

TEST_P(ReferenceDevice, ReleasedMemoryIsNotNeededAnyMore) {
  const auto host = values(3);
  {
    const ClusterMemory between(group_, bytes);
    group_.copy(between.get(), host.data(), bytes);
    group_.copy(x_.get(), between.get(), bytes);
  }
  EXPECT_EQ(read(x_), host);
}

TEST_P(ReferenceDevice, CopiesPastTheEndAreBugs) {
  std::vector<float> host(n + 1);
  EXPECT_THROW(group_.copy(x_.get(), host.data(), bytes + 4), BugError);
  EXPECT_THROW(group_.copy(host.data(), x_.as<float>() + 1, bytes), BugError);
  EXPECT_THROW(group_.zero(x_.as<float>() - 1, 4), BugError);
  EXPECT_THROW(group_.zero(host.data(), 4), BugError);
  float* const gone = ClusterMemory(group_, bytes).as<float>();
  EXPECT_THROW(group_.zero(gone, 4), BugError);
}

TEST_P(ReferenceDevice, StagingMemoryIsTheHosts) {
  auto* const staging = static_cast<float*>(group_.allocate_staging(bytes));
  staging[0] = 5;
  group_.copy(x_.get(), staging, bytes);
  EXPECT_EQ(read(x_)[0], 5);
  group_.release_staging(staging);
}

using ReferenceDeviceDeathTest = ReferenceDevice;

TEST_P(ReferenceDeviceDeathTest, HostCodeThatFollowsAPointerOfTheDeviceIsTold) {
  EXPECT_DEATH(x_.as<volatile float>()[3] = 1, "host code follows a pointer into a device's memory");
}

INSTANTIATE_TEST_SUITE_P(Seeds, ReferenceDevice, ::testing::Values(0, 1, 2, 3, 4, 5));
INSTANTIATE_TEST_SUITE_P(Seeds, ReferenceDeviceDeathTest, ::testing::Values(0));

}  // namespace
}  // namespace cortado::test::device_test
