// The simulator's clock: what its parts cost agrees with what they were measured to cost, and runs repeat.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/backends/sunway/rig.h"

namespace cortado::test::clock_test {
namespace {

using sunway::Costs;

const Costs& costs_of(const std::string& machine) { return sunway::machine_description(machine).costs; }

/// All CPEs bring `times` transfers of one block each, two on their way at a time; bytes per second of the core group.
double measured_bandwidth(const std::string& machine, int block, int times) {
  SimulatedCluster cluster(machine);
  const float* const x = cluster.floats(static_cast<std::size_t>(64 * block / 4));
  const double cycles = cluster.run([&] {
    const float* const own = x + cpe_id() * block / 4;
    port_reply replies[2] = {{0}, {0}};
    for (int i = 0; i < times; ++i) {
      if (i >= 2) port_wait(&replies[i % 2], i / 2);
      port_get(scratch() + i % 2 * block / 4, own, block, &replies[i % 2]);
    }
    for (int parity = 0; parity < 2; ++parity) port_wait(&replies[parity], (times + 1 - parity) / 2);
  });
  return 64.0 * block * times / (cycles / cluster.costs().hz);
}

TEST(SunwayClock, TransfersReachTheMeasuredBandwidthOfTheirSize) {
  for (const std::string& machine : sunway::machine_names())
    for (const auto& entry : costs_of(machine).transfers) {
      if (entry.block_bytes > 32 * 1024) continue;  // two of them do not fit
      const double reached = measured_bandwidth(machine, static_cast<int>(entry.block_bytes), 200);
      // The table was measured with the transfers of 64 CPEs on their way; two each hide the latency from 512 B on.
      EXPECT_LT(reached, 1.001 * entry.bytes_per_second) << machine << " " << entry.block_bytes;
      if (entry.block_bytes >= 512) {
        EXPECT_GT(reached, 0.97 * entry.bytes_per_second) << machine << " " << entry.block_bytes;
      }
    }
}

TEST(SunwayClock, ContendedRoundTripOfEightBytes) {
  SimulatedCluster cluster;
  float* const x = cluster.floats(128);
  const double cycles = cluster.run([&] {
    port_reply reply = {0};
    port_get(scratch(), x + 2 * cpe_id(), 8, &reply);
    port_wait(&reply, 1);
    port_put(x + 2 * cpe_id(), scratch(), 8, &reply);
    port_wait(&reply, 2);
  });
  EXPECT_NEAR(cycles / cluster.costs().hz, 2.2e-6, 0.2e-6);
}

TEST(SunwayClock, MessagesStreamOneACycle) {
  SimulatedCluster cluster;
  constexpr int count = 1000;
  const double cycles = cluster.run([] {
    for (int i = 0; i < count; ++i)
      if (port_col() == 0)
        port_row_broadcast({{double(i), 0, 0, 0}});
      else if (port_row_receive().lane[0] != i)
        std::abort();
  });
  EXPECT_GE(cycles, count);
  EXPECT_LE(cycles, 1.1 * count + 2 * cluster.costs().message_latency);
  // 7 receivers of 8 rows, 32 bytes a cycle: the 4461 GB/s of the paper are 8 x 7 x 32 B x 1.45 GHz and a little more.
  EXPECT_NEAR(8 * 8 * 7 * 32.0 * cluster.costs().hz / 8 / 1e9, 2598, 1);
}

TEST(SunwayClock, ASharedMultiplyRunsAtThePaceOfItsPipelines) {
  // 16 multiply-adds of four lanes and 8 loads or messages a term: 16 cycles.
  const Costs& costs = costs_of("sw26010");
  port_product p = {};
  p.m = p.n0 = 64, p.n2 = p.n1 = 1, p.k = 64, p.count1 = p.count0 = 1;
  p.a_m = 64, p.a_k = 1, p.b_k = 64, p.b_n0 = 1;
  const double ideal = 64.0 * 64 * 64 / 4;
  EXPECT_NEAR(sunway::sim::multiply_cycles(costs, p, false, true, true) / ideal, 1.0, 0.06);
  EXPECT_EQ(sunway::sim::multiply_cycles(costs, p, false, false, false),
            sunway::sim::multiply_cycles(costs, p, false, true, true));
  EXPECT_NEAR(sunway::sim::multiply_cycles(costs, p, true, true, false) / ideal, 20.0 / 16, 0.06);  // widens a's rows
  EXPECT_NEAR(sunway::sim::multiply_cycles(costs, p, true, true, true) / ideal, 24.0 / 16, 0.06);
  p.a_widened = p.b_widened = 1;
  EXPECT_NEAR(sunway::sim::multiply_cycles(costs, p, true, true, true) / ideal, 1.0, 0.06);
  p.b0 = 1, p.count0 = 3;  // taps shift the vectors by single elements: three cycles a load, as many as multiply-adds
  EXPECT_NEAR(sunway::sim::multiply_cycles(costs, p, false, false, true) / (3 * ideal), 1.0, 0.03);
  p.n0 = 8;  // blocks of two vectors multiply in 8 cycles and load in 10
  EXPECT_NEAR(sunway::sim::multiply_cycles(costs, p, false, false, true) / (3 * ideal / 8), 10.0 / 8, 0.03);
  p.b0 = 0, p.count0 = 1, p.n0 = 64;
  p.b_n0 = 2, p.a_m = 1, p.a_k = 64;  // vectors along m instead
  EXPECT_NEAR(sunway::sim::multiply_cycles(costs, p, false, true, true) / ideal, 1.0, 0.06);
  p.a_m = 64, p.a_k = 1;  // neither side has neighbours: the owner loads and inserts element by element
  EXPECT_NEAR(sunway::sim::multiply_cycles(costs, p, false, true, true) / ideal, (4 + 4 * 7) / 16.0, 0.06);
  EXPECT_NEAR(sunway::sim::multiply_cycles(costs, p, false, true, false) / ideal, 1.0, 0.06);
}

TEST(SunwayClock, PutsWithinARequestCostMore) {
  const auto cycles = [](const std::string& machine, int bytes) {
    SimulatedCluster cluster(machine);
    float* const x = cluster.floats(64 * 64);  // puts begin at whole requests
    return cluster.run([&] {
      port_reply reply = {0};
      port_put(x + 64 * cpe_id(), scratch(), bytes, &reply);
      port_wait(&reply, 1);
    });
  };
  EXPECT_LT(cycles("sw26010", 64), cycles("sw26010", 128));
  // What was measured: cycles in which all CPEs put so many bytes each, one put after the other.
  const double latency = costs_of("sw26010pro").transfer_latency;
  for (const auto& [bytes, measured] : std::map<int, double>{{64, 2603}, {124, 3571}, {132, 2732}})
    EXPECT_NEAR(cycles("sw26010pro", bytes) - latency, measured, 0.3 * measured) << bytes;
  EXPECT_NEAR(cycles("sw26010pro", 128) - latency, 533, 60);
}

TEST(SunwayClock, ASuccessorMultipliesByWiderVectorsWithoutConversion) {
  const Costs& costs = costs_of("sw26010pro");
  port_product p = {};
  p.m = p.n0 = 64, p.n2 = p.n1 = 1, p.k = 64, p.count1 = p.count0 = 1, p.step = -1;
  p.a_m = 64, p.a_k = 1, p.b_k = 64, p.b_n0 = 1;
  const double ideal = 64.0 * 64 * 64 / 8;
  EXPECT_NEAR(sunway::sim::multiply_cycles(costs, p, true, true, true) / ideal, 1.0, 0.06);
  EXPECT_EQ(sunway::sim::multiply_cycles(costs, p, true, true, true),
            sunway::sim::multiply_cycles(costs, p, false, true, true));
}

TEST(SunwayClock, RunsRepeat) {
  const auto once = [] {
    SimulatedCluster cluster;
    const float* const x = cluster.floats(1 << 16);
    return cluster.run([&] {
      port_reply reply = {0};
      for (int i = 0; i < 50; ++i) {
        port_get(scratch(), x + (cpe_id() * 37 + i * 11) % 4096 * 8, 64 + 32 * (cpe_id() % 5), &reply);
        port_wait(&reply, i + 1);
        if (i % 10 == 0) port_barrier();
      }
    });
  };
  EXPECT_EQ(once(), once());
}

TEST(SunwayClock, KindsOfCyclesAddUpToTheTime) {
  SimulatedCluster cluster;
  const float* const x = cluster.floats(1 << 14);
  cluster.run([&] {
    port_reply reply = {0};
    port_get(scratch(), x + 256 * cpe_id(), 1024, &reply);
    port_wait(&reply, 1);
    const port_operations each = {1, 1, 3, 0};
    port_count(256 * (1 + cpe_id() % 3), 4, &each);
    port_barrier();
  });
  double sum = 0;
  for (const double cycles : cluster.profile().cycles) sum += cycles;
  EXPECT_NEAR(sum, 64 * (cluster.profile().end - cluster.profile().start), 1e-6 * sum);
  EXPECT_EQ(cluster.profile().transfers, 64);
  EXPECT_EQ(cluster.profile().bytes, 64 * 1024);
}

}  // namespace
}  // namespace cortado::test::clock_test
