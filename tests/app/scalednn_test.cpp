// The simulation of devices on shared links: cases that are solved by hand, and the paper's evaluation.
#include <gtest/gtest.h>

#include <cmath>

#include "app/predict/published_scalednn.h"
#include "comm/predict/event_simulation.h"
#include "comm/predict/master_training.h"
#include "core/base/error.h"

namespace cortado::test::scalednn_test {
namespace {

TEST(EventSimulationTest, ATransferTakesItsLatencyAndItsBytes) {
  EventSimulation s;
  const int link = s.add_link(100), stream = s.add_stream();
  const int one = s.transfer(stream, {link}, 200, 0.5), two = s.transfer(stream, {link}, 100, 0);
  s.run();
  EXPECT_DOUBLE_EQ(s.begin(one), 0);
  EXPECT_DOUBLE_EQ(s.end(one), 2.5);
  EXPECT_DOUBLE_EQ(s.begin(two), 2.5) << "a stream is in order";
  EXPECT_DOUBLE_EQ(s.end(two), 3.5);
}

TEST(EventSimulationTest, TwoTransfersShareALink) {
  EventSimulation s;
  const int link = s.add_link(100);
  const int small = s.transfer(s.add_stream(), {link}, 100, 0), large = s.transfer(s.add_stream(), {link}, 300, 0);
  const int late = s.transfer(s.add_stream(), {link}, 100, 2.5);
  s.run();
  EXPECT_DOUBLE_EQ(s.end(small), 2) << "half of the link";
  // 200 bytes are left at 2, alone until 2.5; then both have half: 100 take 2 s, and the last 50 half a second.
  EXPECT_DOUBLE_EQ(s.end(late), 4.5);
  EXPECT_DOUBLE_EQ(s.end(large), 5);
}

TEST(EventSimulationTest, WhatOneLinkHoldsBackLeavesMoreOfAnother) {
  EventSimulation s;
  const int narrow = s.add_link(10), wide = s.add_link(100), other = s.add_link(1000);
  const int held = s.transfer(s.add_stream(), {narrow, wide}, 10, 0);
  const int free = s.transfer(s.add_stream(), {wide, other}, 180, 0);
  s.run();
  EXPECT_DOUBLE_EQ(s.end(held), 1);
  EXPECT_DOUBLE_EQ(s.end(free), 1 + 90 / 100.0) << "90 a second beside the other, then 100";
}

TEST(EventSimulationTest, WorkOverlapsWhatItDoesNotWaitFor) {
  EventSimulation s;
  const int link = s.add_link(10), compute = s.add_stream(), copies = s.add_stream();
  const int first = s.transfer(copies, {link}, 10, 0), next = s.transfer(copies, {link}, 30, 0);
  const int work = s.compute(compute, 2, {first}), more = s.compute(compute, 2, {next});
  s.run();
  EXPECT_DOUBLE_EQ(s.begin(work), 1);
  EXPECT_DOUBLE_EQ(s.end(work), 3);
  EXPECT_DOUBLE_EQ(s.begin(more), 4) << "when its input has come";
  EXPECT_DOUBLE_EQ(s.end(more), 6);
}

TEST(EventSimulationTest, NothingMayTakeNoTime) {
  EventSimulation s;
  const int stream = s.add_stream(), link = s.add_link(1);
  const int none = s.transfer(stream, {link}, 0, 0), after = s.compute(stream, 0);
  s.run();
  EXPECT_EQ(s.end(none), 0);
  EXPECT_EQ(s.end(after), 0);
  EXPECT_THROW(s.transfer(stream, {}, 1, 0), BugError);
  EXPECT_THROW(s.add_link(0), BugError);
}

/// Four devices; whole numbers of seconds: a batch takes 16 from the host and its parts 1 a link, weights 8.
DeviceTree tree() {
  DeviceTree t;
  t.device_link = t.bridge_link = t.socket_link = 100;
  t.host_copies = 25;
  t.chunk = 800;
  t.memory = 400;
  t.update_passes = 2;
  return t;
}
MasterWork work() { return {400, 10, 800, 0}; }

TEST(MasterTrainingTest, TheBaselineDoesOneThingAfterTheOther) {
  const MasterIteration t = simulate_master_training(tree(), work(), {});
  EXPECT_DOUBLE_EQ(t.host_copy, 16);
  EXPECT_DOUBLE_EQ(t.scatter, 3) << "three parts share the master's link";
  EXPECT_DOUBLE_EQ(t.broadcast, 3 * 8) << "one chunk, three hops";
  EXPECT_DOUBLE_EQ(t.reduce, 3 * 8);
  EXPECT_DOUBLE_EQ(t.compute, 10);
  EXPECT_DOUBLE_EQ(t.update, 4);
  EXPECT_DOUBLE_EQ(t.total, 16 + 3 + 24 + 10 + 24 + 4);
  EXPECT_DOUBLE_EQ(t.movement(), 16 + 3 + 24 + 24);
}

TEST(MasterTrainingTest, ChunksAreOnAllLinksAtOnce) {
  DeviceTree t = tree();
  t.chunk = 100;
  EXPECT_DOUBLE_EQ(simulate_master_training(t, work(), {}).broadcast, 8 + 2)
      << "eight chunks of a second, two hops more";
  t.latency = 0.5;
  EXPECT_DOUBLE_EQ(simulate_master_training(t, work(), {}).broadcast, (8 + 2) * 1.5);
  t = tree();
  t.chunk = 100;
  t.bridge_link = 50;
  EXPECT_DOUBLE_EQ(simulate_master_training(t, work(), {}).reduce, 1 + 8 * 2 + 1) << "the narrow hop between bridges";
  EXPECT_DOUBLE_EQ(simulate_master_training(t, work(), {}).scatter, 4) << "two parts share the bridge's way up";
}

TEST(MasterTrainingTest, PreloadingHidesTheHostsCopiesBehindAllElse) {
  const MasterIteration four = simulate_master_training(tree(), work(), {true, 4});
  EXPECT_DOUBLE_EQ(four.scatter, 0);
  EXPECT_DOUBLE_EQ(four.total, 24 + 10 + 24 + 4);
  DeviceTree pair = tree();  // whose devices have weights at the same time
  pair.devices = 2;
  const MasterIteration two = simulate_master_training(pair, work(), {true, 4});
  EXPECT_DOUBLE_EQ(two.host_copy, 16) << "the host gives no more to two than to one";
  // Gradients share the master's link with its part of the batch, 12.5 bytes a second, for the last 6 s of that.
  EXPECT_DOUBLE_EQ(two.total, 8 + 10 + (6 + (800 - 6 * 87.5) / 100) + 4);
  pair.host_copies = 400.0 / 50;
  EXPECT_DOUBLE_EQ(simulate_master_training(pair, work(), {true, 4}).total, 50) << "bound by the host";
}

TEST(MasterTrainingTest, CodesAreShorterButTakeWork) {
  MasterWork w = work();
  w.blobs = 3;
  DeviceTree t = tree();
  t.launch = 0.125;
  // 200 bytes instead of 800 on each hop; both ways 1000 bytes of memory traffic, and a program a blob.
  EXPECT_DOUBLE_EQ(simulate_master_training(t, w, {true, 1}).broadcast, 3 * 2 + 2 * (2.5 + 0.375));
}

TEST(MasterTrainingTest, OneDeviceOnlyCopiesAndComputes) {
  DeviceTree t = tree();
  t.devices = 1;
  const MasterIteration one = simulate_master_training(t, work(), {});
  EXPECT_DOUBLE_EQ(one.total, 16 + 10 + 4);
  EXPECT_EQ(one.scatter + one.broadcast + one.reduce, 0);
}

TEST(ScaleDnnTest, AllConfigurationsAreSimulatedAndCompared) {
  const ScaleDnn paper = simulate_scalednn();
  EXPECT_EQ(paper.runs.size(), 7u * 3 + 1);
  for (const ScaleDnn::Run& run : paper.runs) {
    SCOPED_TRACE(run.net + " " + std::to_string(run.batch));
    const MasterIteration& base = run.baseline;
    EXPECT_NEAR(base.total, base.host_copy + base.scatter + base.broadcast + base.compute + base.reduce + base.update,
                0.02 * base.total)
        << "one after the other";
    EXPECT_LT(run.preloaded.total, base.total);
    EXPECT_NEAR(run.one_device.compute, 4 * base.compute, 1e-12);
    EXPECT_LT(run.bf16.movement(), base.movement());
  }
  for (const auto& comparison : paper.comparisons) {
    EXPECT_TRUE(std::isfinite(comparison.ours)) << comparison.what;
    EXPECT_NE(comparison.printed, 0) << comparison.what;
  }
}

}  // namespace
}  // namespace cortado::test::scalednn_test
