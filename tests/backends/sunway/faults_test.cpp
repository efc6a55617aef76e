// The simulator finds what would go wrong on the machine: one planted fault of each kind, and what its message names.
#include <gmock/gmock.h>

#include "backends/sunway/sim/counted.h"
#include "core/base/error.h"
#include "tests/backends/sunway/rig.h"

namespace cortado::test::faults_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string error_of(SimulatedCluster& cluster, const std::function<void()>& body) {
  try {
    cluster.run(body);
  } catch (const ClusterError& error) { return error.what(); }
  return "no error";
}

/// A fault of CPE (2, 5) alone.
std::string fault(SimulatedCluster& cluster, const std::function<void()>& body) {
  return error_of(cluster, [&] {
    if (port_row() == 2 && port_col() == 5) body();
  });
}

void get(float* ldm, const float* memory, int bytes) {
  port_reply reply = {0};
  port_get(ldm, memory, bytes, &reply);
  port_wait(&reply, 1);
}

TEST(SunwayFaults, ScratchpadOverflowNamesProgramCpeAndOperation) {
  SimulatedCluster cluster;
  const float* const x = cluster.floats(1024);
  const auto text = fault(cluster, [&] {
    port_name("get", 3);
    get(scratch() + cluster.costs().scratch_bytes / 4 - 256, x, 2048);
  });
  EXPECT_THAT(text, AllOf(HasSubstr("program test"), HasSubstr("core group 0"), HasSubstr("CPE (2, 5)"),
                          HasSubstr("get of buffer 3"), HasSubstr("overflows the scratchpad by 1024 bytes")));
}

TEST(SunwayFaults, TransferOutsideOfMemory) {
  SimulatedCluster cluster;
  const float* const x = cluster.floats(1024);
  EXPECT_THAT(fault(cluster, [&] { get(scratch(), x + 1000, 128); }), HasSubstr("outside of the core group's memory"));
  EXPECT_THAT(fault(cluster, [&] { get(scratch(), x - 64, 4); }), HasSubstr("outside of the core group's memory"));
  EXPECT_THAT(fault(cluster,
                    [&] {
                      port_reply reply = {0};
                      port_get_strided(scratch(), x, 512, 128, 1200, &reply);  // the last block ends behind the end
                    }),
              HasSubstr("outside of the core group's memory"));
}

TEST(SunwayFaults, MisalignedTransfer) {
  SimulatedCluster cluster;
  float* const x = cluster.floats(1024);
  EXPECT_THAT(fault(cluster,
                    [&] {
                      port_reply reply = {0};
                      port_get(reinterpret_cast<char*>(scratch()) + 2, x, 64, &reply);
                    }),
              HasSubstr("misaligned"));
  EXPECT_THAT(fault(cluster,
                    [&] {
                      port_reply reply = {0};
                      port_put_strided(x, scratch(), 12, 6, 4, &reply);
                    }),
              HasSubstr("misaligned"));
  EXPECT_THAT(fault(cluster,
                    [&] {
                      port_reply reply = {0};
                      port_get_strided(scratch(), x, 100, 64, 4, &reply);
                    }),
              HasSubstr("100 bytes in blocks of 64"));
}

TEST(SunwayFaults, OverlappingTransfers) {
  SimulatedCluster cluster;
  float* const x = cluster.floats(65536);
  EXPECT_THAT(fault(cluster,
                    [&] {
                      port_reply reply = {0};
                      port_get(scratch(), x, 512, &reply);
                      port_get(scratch() + 64, x + 512, 512, &reply);
                    }),
              HasSubstr("overlaps one in the scratchpad"));
  EXPECT_THAT(error_of(cluster,
                       [&] {
                         port_reply reply = {0};
                         port_put(x + 8 * cpe_id(), scratch(), 64, &reply);  // 16 floats each, 8 apart
                         port_wait(&reply, 1);
                       }),
              HasSubstr("in memory that is on its way"));
}

TEST(SunwayFaults, InterleavedBlocksDoNotOverlap) {
  SimulatedCluster cluster;
  float* const x = cluster.floats(8 * 64 * 16);
  cluster.run([&] {
    for (int i = 0; i < 128; ++i) scratch()[i] = static_cast<float>(cpe_id());
    port_reply reply = {0};
    port_put_strided(x + 8 * cpe_id(), scratch(), 512, 32, 63 * 32, &reply);
    port_wait(&reply, 1);
  });
  for (int i = 0; i < 8 * 64 * 16; ++i) ASSERT_EQ(x[i], static_cast<float>(i / 8 % 64)) << i;
}

TEST(SunwayFaults, ReadBeforeArrival) {
  SimulatedCluster cluster;
  const float* const x = cluster.floats(1024);
  const auto text = fault(cluster, [&] {
    port_reply reply = {0};
    port_get(scratch(), x, 512, &reply);
    (void)sunway::load(scratch() + 100);
  });
  EXPECT_THAT(text, AllOf(HasSubstr("CPE (2, 5)"), HasSubstr("reads where a transfer has not arrived")));
}

TEST(SunwayFaults, WriteWhatATransferReads) {
  SimulatedCluster cluster;
  float* const x = cluster.floats(1024);
  EXPECT_THAT(fault(cluster,
                    [&] {
                      port_reply reply = {0};
                      port_put(x, scratch(), 512, &reply);
                      sunway::store(scratch() + 127, 1.0f);
                    }),
              HasSubstr("writes what a transfer to memory still reads"));
}

TEST(SunwayFaults, WaitForMoreTransfersThanStarted) {
  SimulatedCluster cluster;
  const float* const x = cluster.floats(1024);
  EXPECT_THAT(fault(cluster,
                    [&] {
                      port_reply reply = {0};
                      port_get(scratch(), x, 512, &reply);
                      port_wait(&reply, 2);
                    }),
              HasSubstr("waits for 2 transfers, of which 1 were started"));
}

TEST(SunwayFaults, EndBeforeArrival) {
  SimulatedCluster cluster;
  const float* const x = cluster.floats(1024);
  EXPECT_THAT(fault(cluster,
                    [&] {
                      port_reply reply = {0};
                      port_get(scratch(), x, 512, &reply);
                    }),
              HasSubstr("ends before 1 transfers were waited for"));
}

TEST(SunwayFaults, MessageToNoMate) {
  SimulatedCluster cluster;
  EXPECT_THAT(fault(cluster, [] { port_row_send({{1, 2, 3, 4}}, 8); }), HasSubstr("sends along its row to column 8"));
  EXPECT_THAT(fault(cluster, [] { port_col_send({{1, 2, 3, 4}}, 2); }), HasSubstr("sends along its column to row 2"));
}

TEST(SunwayFaults, MessageNeverReceived) {
  SimulatedCluster cluster;
  EXPECT_THAT(fault(cluster,
                    [] {
                      port_col_send({{1, 2, 3, 4}}, 0);
                    }),
              AllOf(HasSubstr("CPE (0, 5)"), HasSubstr("1 messages were never received")));
}

TEST(SunwayFaults, DeadlockNamesWhoWaitsForWhat) {
  SimulatedCluster cluster;
  EXPECT_THAT(fault(cluster, [] { port_row_receive(); }),
              AllOf(HasSubstr("deadlock"), HasSubstr("CPE (2, 5) waits for a message along its row")));
  EXPECT_THAT(fault(cluster,
                    [] {
                      for (int i = 0; i < 100; ++i) port_row_broadcast({{1, 2, 3, 4}});
                    }),
              HasSubstr("CPE (2, 5) waits for room in the FIFO"));
  EXPECT_THAT(error_of(cluster,
                       [] {
                         if (cpe_id() != 63) port_barrier();
                       }),
              AllOf(HasSubstr("deadlock"), HasSubstr("at the barrier"), HasSubstr("and 59 more")));
}

TEST(SunwayFaults, SharedMultiplyOfDifferentSizes) {
  SimulatedCluster cluster;
  EXPECT_THAT(error_of(cluster,
                       [] {
                         port_product p = {};
                         p.m = p.n2 = p.n1 = p.n0 = p.k = p.count1 = p.count0 = 4;
                         if (port_col() == 7) p.k = 3;
                         port_multiply_float(scratch(), scratch(), scratch(), &p);
                       }),
              HasSubstr("sizes differ"));
}

TEST(SunwayFaults, TheClusterCanBeUsedAgain) {
  SimulatedCluster cluster;
  const float* const x = cluster.floats(1024);
  EXPECT_NE(fault(cluster, [] { port_row_receive(); }), "no error");
  EXPECT_EQ(error_of(cluster, [&] { get(scratch(), x, 512); }), "no error");
}

}  // namespace
}  // namespace cortado::test::faults_test
