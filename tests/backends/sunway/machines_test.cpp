// The descriptions of machines: complete, alike in what they say, and what planners make of them.
#include <gtest/gtest.h>

#include <set>

#include "backends/sunway/costs.h"
#include "backends/sunway/port.h"
#include "core/base/error.h"
#include "core/machine/estimate.h"
#include "core/machine/plan.h"

namespace cortado::test::machines_test {
namespace {

using sunway::Costs;
using sunway::machine_description;

TEST(SunwayMachines, SayTheSameThingsWithASourceEach) {
  std::vector<std::string> names;
  for (const auto& figure : machine_description("sw26010").figures) names.push_back(figure.name);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  for (const std::string& machine : sunway::machine_names()) {
    std::vector<std::string> own;
    for (const auto& figure : machine_description(machine).figures) {
      own.push_back(figure.name);
      EXPECT_NE(figure.source, "") << machine << ": " << figure.name;
      EXPECT_NE(figure.value, "") << machine << ": " << figure.name;
    }
    EXPECT_EQ(own, names) << machine;
  }
}

TEST(SunwayMachines, AreNamedWhereOneIsNotDescribed) {
  try {
    machine_description("sw5");
    FAIL() << "a machine of no name";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("take sw26010 or sw26010pro"), std::string::npos) << error.what();
  }
}

TEST(SunwayMachines, PeaksAreTheirPipelines) {
  for (const std::string& machine : sunway::machine_names()) {
    const Costs& c = machine_description(machine).costs;
    EXPECT_NEAR(c.peak_flops, port_cpes * c.vector_lanes * 2 * c.hz, 1e9) << machine;
    EXPECT_EQ(c.has_rma, c.message_latency == 0) << machine;
  }
}

TEST(SunwayMachines, OperandsGetWhatTheMachineMultipliesFrom) {
  // SW26010 widens floats in the scratchpad; SW26010-Pro receives what others share.
  const auto spare = [](const char* machine, bool turns, bool in_double) {
    const MachineSpec spec = machine_spec(machine_description(machine).costs);
    PlanBuilder book(spec);
    return in_double ? book.operand<double>("x", 64, Depth::two, turns).spare
                     : book.operand<float>("x", 64, Depth::two, turns).spare;
  };
  EXPECT_EQ(spare("sw26010", false, false), 2);
  EXPECT_EQ(spare("sw26010", false, true), 0);
  EXPECT_EQ(spare("sw26010", true, true), 1);
  EXPECT_EQ(spare("sw26010pro", false, false), 2);
  EXPECT_EQ(spare("sw26010pro", true, false), 3);
}

TEST(SunwayMachines, SharingIsHiddenBehindMultipliesThatTakeLonger) {
  const MachineSpec spec = machine_spec(machine_description("sw26010pro").costs);
  TileShape shape;
  shape.m = shape.n0 = shape.k = 64;
  const double multiply = 8 * multiply_seconds(spec, shape, 1);
  const double few = shared_multiply_seconds(spec, shape, 1, 1024), many = shared_multiply_seconds(spec, shape, 1, 1e7);
  EXPECT_GT(few, multiply);
  EXPECT_LT(few, 1.05 * multiply);
  EXPECT_NEAR(many, 9 * 1e7 / spec.multiply.share_bytes / spec.clock_hz, 1e-6);
}

TEST(SunwayMachines, PutsOfPartialRequestsAreEstimated) {
  const MachineSpec old = machine_spec(machine_description("sw26010").costs),
                    pro = machine_spec(machine_description("sw26010pro").costs);
  EXPECT_EQ(put_seconds(old, 3, 100), transfer_seconds(old, 3, 100));
  EXPECT_EQ(put_seconds(pro, 3, 256), transfer_seconds(pro, 3, 256));
  EXPECT_NEAR(put_seconds(pro, 3, 260) - transfer_seconds(pro, 3, 260), 3 * pro.partial_put_seconds, 1e-12);
}

}  // namespace
}  // namespace cortado::test::machines_test
