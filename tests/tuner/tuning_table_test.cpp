#include "core/tuner/tuning_table.h"

#include <gtest/gtest.h>

#include "core/base/file.h"
#include "core/formats/prototxt.h"
#include "core/formats/tuning.pb.h"
#include "tests/support/temporary_folder.h"
#include "tests/tuner/tunable_layer.h"

namespace cortado::test::tuning_table_test {
namespace {

TuningKey machine(const std::string& name, int threads, const std::string& build = "b") {
  TuningKey key;
  key.backend = name;
  key.processor = "P";
  key.build = build;
  key.vector_bits = 32;
  key.core_groups = 1;
  key.threads = threads;
  return key;
}

/// Rank 1 of two, which gets what rank 0 sent, in order.
class Second : public Replicas {
 public:
  explicit Second(std::vector<std::string> texts) : texts_(std::move(texts)) {}
  int rank() const override { return 1; }
  int size() const override { return 2; }
  std::string from_root(const std::string&) const override { return texts_.at(next_++); }

 private:
  std::vector<std::string> texts_;
  mutable std::size_t next_ = 0;
};

/// Rank 0, which keeps what it sends.
class First : public Replicas {
 public:
  int size() const override { return 2; }
  std::string from_root(const std::string& text) const override {
    sent.push_back(text);
    return text;
  }
  mutable std::vector<std::string> sent;
};

class TuningTableTest : public ::testing::Test {
 protected:
  TuningTableTest() : net_(net_of(toy_net(3, 2)), options()) {}
  static NetOptions options() {
    NetOptions made;
    made.group = &group_of("reference");
    made.layers = &tunable_layers();
    return made;
  }
  static TuningTable table(const std::string& build = "b") { return TuningTable(machine("openmp", 2, build)); }
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
  caffe::CortadoTuningFile one, two;
  read_text(folder_.file("t"), one);
  read_text(folder_.file("again"), two);
  EXPECT_EQ(one.SerializeAsString(), two.SerializeAsString());
  ASSERT_EQ(one.machine_size(), 1);
  EXPECT_EQ(one.machine(0).work(0).best(0).ms(), 1e-6);
}

TEST_F(TuningTableTest, LayoutsAreForWholeNets) {
  TuningTable written = table(), other = table("another");
  written.set({layout_direction, "mb2c32h5w5", "nchw16c", "", 0}, 1);
  written.set({layout_direction, "mb2c64h5w5bf16", "nchw", "", 0}, 1);
  other.set({layout_direction, "mb2c32h5w5", "nchw", "", 0}, 1);
  other.set({layout_direction, "mb2c64h7w7", "nchw16c", "", 0}, 1);
  written.write(folder_.file("t"));
  other.write(folder_.file("other"));
  TuningTable read = table();
  read.read(folder_.file("t"));
  read.read(folder_.file("other"));
  const std::map<std::string, Layout> expected = {
      {"mb2c32h5w5", Layout::nchw16c}, {"mb2c64h5w5bf16", Layout::nchw}, {"mb2c64h7w7", Layout::nchw16c}};
  EXPECT_EQ(read.layouts(), expected) << "the own build's, and another's where it has none";
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

TEST_F(TuningTableTest, TheNearestMachineHoldsWhereThisOneHasNone) {
  const auto write = [&](const std::string& name, int threads, const std::string& file, const std::string& candidate) {
    TuningTable t{machine(name, threads)};
    if (exists(folder_.file(file))) t.read(folder_.file(file));
    t.set(option("forward", candidate), 1);
    t.write(folder_.file(file));
  };
  write("cuda", 2, "t", "quick");
  TuningTable own = table();
  own.read(folder_.file("t"));
  EXPECT_EQ(own.plans_for(net_), PlanBook{}) << "another backend's entry";
  EXPECT_NE(own.coverage(net_).find("0 of 1 layers"), std::string::npos) << own.coverage(net_);

  write("openmp", 16, "t", "quick");
  write("openmp", 4, "t", "slow");
  own.read(folder_.file("t"));
  EXPECT_EQ(own.plans_for(net_), (PlanBook{{"toy/forward", "slow"}}));
  const std::string told = own.coverage(net_);
  EXPECT_NE(told.find("1 of 1 layers from "), std::string::npos) << told;
  EXPECT_NE(told.find("1 as measured on the nearest machine: threads 4 (here 2)"), std::string::npos) << told;

  write("openmp", 3, "t", "renamed_since");
  own.read(folder_.file("t"));
  EXPECT_EQ(own.plans_for(net_), (PlanBook{{"toy/forward", "slow"}})) << "the nearest that can be done";

  own.set(option("forward", "quick"), 1);
  EXPECT_EQ(own.plans_for(net_), (PlanBook{{"toy/forward", "quick"}}));
  EXPECT_EQ(own.coverage(net_), "tuning: 1 of 1 layers from this run");
}

TEST_F(TuningTableTest, MachinesOfManyMoreThreadsDoNotHold) {
  for (const auto& [threads, plans] :
       {std::pair<int, PlanBook>{9, {}}, {8, {{"toy/forward", "quick"}}}, {1, {{"toy/forward", "quick"}}}}) {
    const std::string file = folder_.file(std::to_string(threads));
    TuningTable there{machine("openmp", threads)};
    there.set(option("forward", "quick"), 1);
    there.write(file);
    TuningTable own = table();
    own.read(file);
    EXPECT_EQ(own.plans_for(net_), plans) << threads << " threads there, 2 here";
  }
}

TEST_F(TuningTableTest, AllMachinesAreKept) {
  TuningTable other{machine("cuda", 7, "c")};
  other.set(option("forward", "quick", "n4"), 1);
  other.write(folder_.file("t"));
  TuningTable own = table();
  own.read(folder_.file("t"));
  own.set(option("forward", "quick"), 1);
  own.set(option("backward", "left"), 1);
  own.write(folder_.file("t"));
  caffe::CortadoTuningFile all;
  read_text(folder_.file("t"), all);
  ASSERT_EQ(all.machine_size(), 2);
  EXPECT_EQ(all.machine(0).backend(), "cuda");
  ASSERT_EQ(all.machine(1).work_size(), 1) << "directions of a shape stand together";
  EXPECT_EQ(all.machine(1).work(0).best_size(), 2);
  EXPECT_LT(read_file(folder_.file("t")).find("  work { shape: \"n3\" best { direction: \"backward\""),
            std::string::npos);
}

TEST_F(TuningTableTest, FilesOfVersion1AreRead) {
  const std::string file = folder_.write(
      "old",
      "version: 1\n"
      "entry { backend: 'openmp' machine: 'P, 32-bit vectors, 1 x 2 OpenMP threads on CPUs 4-5' build: 'b' "
      "direction: 'forward' type: 'float' shape: 'n3' candidate: 'quick' seconds: 0.25 }\n"
      "entry { backend: 'openmp' machine: 'P, 32-bit vectors, 1 x 4 OpenMP threads on CPUs 0-3' build: 'b' "
      "direction: 'forward' type: 'float' shape: 'n3' candidate: 'slow' seconds: 0.25 }\n");
  TuningTable own = table();
  own.read(file);
  EXPECT_EQ(own.plans_for(net_), (PlanBook{{"toy/forward", "quick"}}));
  EXPECT_EQ(own.coverage(net_), "tuning: 1 of 1 layers from " + file) << "other CPUs are no other machine";
}

TEST_F(TuningTableTest, AllRanksTakeRankZerosPlans) {
  TuningTable root{machine("openmp", 4)}, other = table();
  root.set(option("forward", "quick"), 1);
  TuningTable near{machine("openmp", 2)};
  near.set(option("forward", "slow"), 1);
  near.write(folder_.file("near"));
  root.read(folder_.file("near"));
  other.read(folder_.file("near"));
  other.set(option("backward", "left"), 1);
  First first;
  root.take_from_root(first);
  other.take_from_root(Second(first.sent));
  EXPECT_EQ(root.plans_for(net_), (PlanBook{{"toy/forward", "quick"}}));
  EXPECT_EQ(other.plans_for(net_), root.plans_for(net_)) << "though this rank's machine has entries of its own";
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
}  // namespace cortado::test::tuning_table_test
