#include "core/tuner/tuning_table.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tests/tuner/tunable_layer.h"

namespace cortado::test {
namespace {

MachineSpec machine(const std::string& name, const std::string& description) {
  MachineSpec spec;
  spec.name = name;
  spec.description = description;
  return spec;
}

class TuningTableTest : public ::testing::Test {
 protected:
  TuningTableTest() : net_(net_of(toy_net(3, 2)), options()) {}
  static NetOptions options() {
    NetOptions made;
    made.group = &group_of("reference");
    made.layers = &tunable_layers();
    return made;
  }
  static TuningTable table(const std::string& build = "b") { return {machine("openmp", "two cores"), build}; }
  static PlanOption option(const std::string& direction, const std::string& candidate,
                           const std::string& shape = "n3") {
    return {direction, shape, candidate, "", 0};
  }
  Net net_;
  TemporaryFolder folder_;
};

TEST_F(TuningTableTest, RoundTrip) {
  TuningTable written = table();
  written.set(option("forward", "quick"), 0.25);
  written.set(option("backward", "right"), 1e-9);
  written.write(folder_.file("t"));
  TuningTable read = table();
  read.read(folder_.file("t"));
  EXPECT_EQ(read.plans_for(net_), (PlanBook{{"toy/forward", "quick"}, {"toy/backward", "right"}}));
  read.write(folder_.file("again"));
  caffe::CortadoTuning one, two;
  read_text(folder_.file("t"), one);
  read_text(folder_.file("again"), two);
  EXPECT_EQ(one.SerializeAsString(), two.SerializeAsString());
  EXPECT_EQ(one.entry(0).seconds(), 1e-9);
}

TEST_F(TuningTableTest, LayoutsAreForWholeNets) {
  TuningTable written = table(), other = table("another");
  written.set({layout_direction, "mb2c32h5w5", "nchw16c", "", 0}, 1);
  written.set({layout_direction, "mb2c64h5w5bf16", "nchw", "", 0}, 1);
  other.set({layout_direction, "mb2c64h7w7", "nchw16c", "", 0}, 1);
  written.write(folder_.file("t"));
  TuningTable read = table();
  read.read(folder_.file("t"));
  const std::map<std::string, Layout> expected = {{"mb2c32h5w5", Layout::nchw16c}, {"mb2c64h5w5bf16", Layout::nchw}};
  EXPECT_EQ(read.layouts(), expected);
  other.read(folder_.file("t"));
  EXPECT_EQ(other.layouts().size(), 1u) << "another build's are not used";
}

TEST_F(TuningTableTest, TheLaterFileWins) {
  TuningTable first = table(), second = table(), both = table();
  first.set(option("forward", "slow"), 1);
  first.set(option("backward", "left"), 1);
  second.set(option("forward", "quick"), 2);
  first.write(folder_.file("first"));
  second.write(folder_.file("second"));
  both.read(folder_.file("first"));
  both.read(folder_.file("second"));
  EXPECT_EQ(both.plans_for(net_), (PlanBook{{"toy/forward", "quick"}, {"toy/backward", "left"}}));
}

TEST_F(TuningTableTest, EntriesOfOtherMachinesBuildsAndShapesAreKeptAndNotUsed) {
  TuningTable other_build = table("another");
  other_build.set(option("forward", "quick"), 1);
  other_build.write(folder_.file("t"));
  TuningTable other_machine{machine("openmp", "four cores"), "b"};
  other_machine.read(folder_.file("t"));
  other_machine.set(option("forward", "quick"), 1);
  other_machine.write(folder_.file("t"));
  TuningTable own = table();
  own.read(folder_.file("t"));
  own.set(option("forward", "quick", "n4"), 1);
  EXPECT_EQ(own.plans_for(net_), PlanBook{});
  own.set(option("forward", "quick"), 1);
  EXPECT_EQ(own.plans_for(net_), (PlanBook{{"toy/forward", "quick"}}));
  own.write(folder_.file("t"));
  caffe::CortadoTuning all;
  read_text(folder_.file("t"), all);
  EXPECT_EQ(all.entry_size(), 4);
}

TEST_F(TuningTableTest, CandidatesThatAreGoneOrRefuseAreNotUsed) {
  TuningTable t = table();
  t.set(option("forward", "renamed_since"), 1);
  t.set(option("backward", "right"), 1);
  EXPECT_EQ(t.plans_for(net_), (PlanBook{{"toy/backward", "right"}}));
  t.set(option("forward", "refused"), 1);
  EXPECT_EQ(t.plans_for(net_), (PlanBook{{"toy/backward", "right"}}));
}

TEST_F(TuningTableTest, MistakesAreNamed) {
  TuningTable t = table();
  EXPECT_THROW(t.read(folder_.file("absent")), FileError);
  try {
    t.read(folder_.write("typo", "version: 1\nentry { bakend: 'x' }\n"));
    FAIL() << "a typo was read";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("typo:2:"), std::string::npos) << error.what();
  }
  try {
    t.read(folder_.write("new", "version: 7\n"));
    FAIL() << "a file of another version was read";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("version 7"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace cortado::test
