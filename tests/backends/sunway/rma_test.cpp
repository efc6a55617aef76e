// SW26010-Pro on the simulator: RMA between scratchpads, what it must not do, what it costs, and products by way of it.
#include <gmock/gmock.h>

#include "backends/sunway/sim/counted.h"
#include "core/base/error.h"
#include "tests/backends/sunway/rig.h"

namespace cortado::test::rma_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const sunway::Costs& pro() { return sunway::machine_description("sw26010pro").costs; }

std::string error_of(SimulatedCluster& cluster, const std::function<void()>& body) {
  try {
    cluster.run(body);
  } catch (const ClusterError& error) { return error.what(); }
  return "no error";
}
std::string error_of(const std::function<void()>& body, const char* machine = "sw26010pro") {
  SimulatedCluster cluster(machine);
  return error_of(cluster, body);
}

/// Words of reply in the scratchpad, where all CPEs have them, behind `floats` of data.
port_reply* replies() { return reinterpret_cast<port_reply*>(scratch() + 4096); }
void clear_replies() {
  for (int i = 0; i < 4; ++i) replies()[i].arrived = 0;
  port_barrier();
}

TEST(SunwayRma, BroadcastsReachTheRowOrTheColumnAndTheirSender) {
  for (const bool along_row : {true, false}) {
    SimulatedCluster cluster("sw26010pro");
    cluster.run([&] {
      clear_replies();
      for (int i = 0; i < 32; ++i) scratch()[i] = static_cast<float>(100 * cpe_id() + i);
      const auto broadcast = along_row ? port_rma_row_broadcast : port_rma_col_broadcast;
      if ((along_row ? port_col() : port_row()) == 3)
        broadcast(scratch() + 64, scratch(), 128, &replies()[0], &replies()[1]);
      port_rma_wait(&replies()[1], 1);
      if ((along_row ? port_col() : port_row()) == 3) port_rma_wait(&replies()[0], 1);
      const int sender = along_row ? port_row() * port_mesh_cols + 3 : 3 * port_mesh_cols + port_col();
      for (int i = 0; i < 32; ++i)
        if (sunway::load(scratch() + 64 + i) != static_cast<float>(100 * sender + i)) std::abort();
    });
  }
}

TEST(SunwayRma, CostsLatencyAndBandwidth) {
  const auto cycles = [](int bytes, int times) {
    SimulatedCluster cluster("sw26010pro");
    return cluster.run([&] {
      clear_replies();
      for (int i = 0; i < times; ++i)
        if (port_col() == 0) {
          port_rma_row_broadcast(scratch() + 8192, scratch(), bytes, &replies()[0], &replies()[1]);
          port_rma_wait(&replies()[0], i + 1);
          port_rma_wait(&replies()[1], i + 1);
        } else {
          port_rma_wait(&replies()[1], i + 1);
        }
      port_barrier();
    });
  };
  const double one = cycles(1024, 1) - cycles(1024, 0);
  EXPECT_NEAR(one, pro().rma_issue + pro().rma_latency + 1024 / pro().rma_bytes, 1);
  EXPECT_NEAR(cycles(2048, 1) - cycles(1024, 1), 1024 / pro().rma_bytes, 1);
}

TEST(SunwayRma, WaysInAreShared) {
  // Seven CPEs of a row send to the eighth: its way in takes one after the other.
  SimulatedCluster cluster("sw26010pro");
  const double cycles = cluster.run([&] {
    clear_replies();
    if (port_col() > 0)
      port_rma_put(scratch() + 256 * port_col(), scratch(), 1024, port_row() * port_mesh_cols, &replies()[0],
                   &replies()[1]);
    if (port_col() > 0) port_rma_wait(&replies()[0], 1);
    if (port_col() == 0) port_rma_wait(&replies()[1], 7);
  });
  EXPECT_GE(cycles, 7 * 1024 / pro().rma_bytes);
}

TEST(SunwayRma, FaultsAreNamed) {
  const auto fault = [](const std::function<void()>& body) {
    return error_of([&] {
      clear_replies();
      if (cpe_id() == 21) body();
    });
  };
  const auto put = [](void* to, const void* from, int bytes, int cpe) {
    port_rma_put(to, from, bytes, cpe, &replies()[0], &replies()[1]);
  };
  EXPECT_THAT(fault([&] { put(scratch() + pro().scratch_bytes / 4 - 4, scratch(), 64, 3); }),
              AllOf(HasSubstr("CPE (2, 5)"), HasSubstr("overflows the scratchpad by 48 bytes")));
  EXPECT_THAT(fault([&] { put(reinterpret_cast<char*>(scratch()) + 2, scratch(), 64, 3); }),
              HasSubstr("misaligned RMA"));
  EXPECT_THAT(fault([&] { put(scratch() + 64, scratch(), 64, 64); }), HasSubstr("sends to CPE 64"));
  EXPECT_THAT(fault([&] {
                port_reply reply = {0};
                port_rma_put(scratch() + 64, scratch(), 64, 3, &replies()[0], &reply);
              }),
              HasSubstr("reply is not in the scratchpad"));
  EXPECT_THAT(fault([&] {
                put(scratch() + 64, scratch(), 64, 3);
                put(scratch() + 72, scratch(), 64, 3);
              }),
              HasSubstr("sends to where CPE (0, 3) has not waited for another transfer"));
  EXPECT_THAT(fault([&] {
                put(scratch() + 64, scratch(), 64, 21);
                (void)sunway::load(scratch() + 70);
              }),
              HasSubstr("reads where a transfer has not arrived"));
  EXPECT_THAT(fault([&] {
                put(scratch() + 64, scratch(), 64, 3);
                sunway::store(scratch() + 3, 1.0f);
              }),
              HasSubstr("writes what a transfer"));
  EXPECT_THAT(fault([&] { port_rma_wait(&replies()[1], 1); }), HasSubstr("waits for what others send by RMA"));
  EXPECT_THAT(fault([] { port_row_broadcast({{1, 2, 3, 4}}); }), HasSubstr("SW26010-Pro has RMA instead"));
  EXPECT_THAT(
      error_of([] { port_rma_row_broadcast(scratch() + 64, scratch(), 64, &replies()[0], &replies()[1]); }, "sw26010"),
      HasSubstr("SW26010 has register communication instead"));
}

/// The shares of one product of 4 x 4 by 4 x 4 whose operands and receive slots lie in the first 4096 floats.
port_product small_product() {
  port_product p = {};
  p.m = p.n0 = p.k = 4, p.n2 = p.n1 = p.count1 = p.count0 = 1;
  p.a_m = 4, p.a_k = 1, p.b_k = 4, p.b_n0 = 1;
  p.a_elements = p.b_elements = 16;
  p.a_slots = reinterpret_cast<char*>(scratch() + 64), p.b_slots = reinterpret_cast<char*>(scratch() + 128);
  p.a_slot_bytes = p.b_slot_bytes = 128;
  p.a_serial = 1, p.b_serial = 2;
  return p;
}
float* left() { return scratch() + 256; }
float* right() { return scratch() + 288; }
float* sums() { return scratch() + 320; }

TEST(SunwayRma, ASharedProductIsThatOfItsRowAndColumn) {
  SimulatedCluster cluster("sw26010pro");
  cluster.run([] {
    for (int i = 0; i < 16; ++i)
      left()[i] = static_cast<float>(cpe_id() + i), right()[i] = static_cast<float>(cpe_id() % 7 - i), sums()[i] = 0;
    port_product p = small_product();
    for (p.step = 0; p.step < port_mesh_cols; ++p.step) port_multiply_float(sums(), left(), right(), &p);
    port_share_end();
    for (int i = 0; i < 16; ++i) {
      float expected = 0;
      for (int t = 0; t < port_mesh_cols; ++t)
        for (int k = 0; k < 4; ++k)
          expected += static_cast<float>(port_row() * port_mesh_cols + t + i / 4 * 4 + k) *
                      static_cast<float>((t * port_mesh_cols + port_col()) % 7 - (k * 4 + i % 4));
      if (sums()[i] != expected) std::abort();
    }
  });
  // Two broadcasts of a step reach eight CPEs each: 8 steps of 8 rows and 8 columns.
  EXPECT_EQ(cluster.profile().messages, 8 * 16 * 8);
}

TEST(SunwayRma, SharedProductsThatDoNotFitAreNamed) {
  const auto shared = [](const std::function<void(port_product&)>& change) {
    return error_of([&] {
      port_product p = small_product();
      change(p);
      port_multiply_float(sums(), left(), right(), &p);
      port_share_end();
    });
  };
  EXPECT_THAT(shared([](port_product& p) { p.a_slots = nullptr; }), HasSubstr("no receive slots are booked"));
  EXPECT_THAT(shared([](port_product& p) { p.step = 8; }), HasSubstr("shares for step 8"));
  EXPECT_THAT(shared([](port_product& p) {
                if (port_col() == 0) p.a_elements = 12;
              }),
              HasSubstr("multiplies 64 bytes of an operand of which 48 were shared"));
}

TEST(SunwayRma, ANewOperandInAUsedSlotIsSharedAnew) {
  // The same place, other numbers: the serial number tells.
  SimulatedCluster cluster("sw26010pro");
  cluster.run([] {
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 16; ++i) left()[i] = right()[i] = static_cast<float>(round + 1), sums()[i] = 0;
      port_product p = small_product();
      p.a_serial = 2 * round + 1, p.b_serial = 2 * round + 2;
      for (p.step = 0; p.step < 2; ++p.step) port_multiply_float(sums(), left(), right(), &p);
      if (sums()[5] != static_cast<float>(8 * (round + 1) * (round + 1))) std::abort();
    }
    port_share_end();
  });
}

TEST(SunwayRma, WhatIsStillMultipliedMustNotBeSentTo) {
  const auto text = error_of([] {
    clear_replies();
    port_product p = small_product();
    p.step = -1;
    p.m = p.n0 = p.k = 4;
    if (cpe_id() == 3) port_multiply_float(sums(), left(), right(), &p);
    if (cpe_id() == 5) port_rma_put(left(), scratch(), 4, 3, &replies()[0], &replies()[1]);
  });
  // The put takes longer than so small a product: nothing is wrong yet but that nobody waits.
  EXPECT_THAT(text, HasSubstr("before"));
  EXPECT_THAT(error_of([] {
                clear_replies();
                port_product p = small_product();
                p.step = -1;
                p.count1 = 1000;
                if (cpe_id() == 3) port_multiply_float(sums(), left(), right(), &p);
                if (cpe_id() == 5) port_rma_put(left(), scratch(), 4, 3, &replies()[0], &replies()[1]);
              }),
              AllOf(HasSubstr("CPE (0, 5)"), HasSubstr("sends to where CPE (0, 3) still multiplies")));
}

}  // namespace
}  // namespace cortado::test::rma_test
