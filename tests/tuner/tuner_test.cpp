#include "core/tuner/tuner.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tests/tuner/tunable_layer.h"

namespace cortado::test::tuner_test {
namespace {

NetOptions options_of() {
  NetOptions options;
  options.group = &group_of("reference");
  options.layers = &tunable_layers();
  return options;
}

TEST(Tuner, TriesWhatIsWorthItAndKeepsTheFastest) {
  Net net(net_of(toy_net(3, 2)), options_of());
  Tuner tuner(net);
  ASSERT_EQ(tuner.trials(), 3u);
  TunableLayer::used().clear();
  for (std::size_t trial = 0; trial < 3; ++trial) tuner.run(trial, [&] { net.forward(); });
  EXPECT_EQ(TunableLayer::used(), (std::vector<std::string>{"slow+left", "quick+right", "as_quick+left"}))
      << "by estimate; in order";
  EXPECT_EQ(tuner.best(), (PlanBook{{"toy/forward", "quick"}, {"toy/backward", "right"}})) << "the likelier of equals";

  std::map<std::string, Tuner::Row> rows;
  for (const auto& row : tuner.rows()) rows[row.option.candidate] = row;
  ASSERT_EQ(rows.size(), 7u);
  EXPECT_TRUE(rows["quick"].chosen);
  EXPECT_EQ(rows["quick"].seconds, 1);
  EXPECT_FALSE(rows["slow"].chosen);
  EXPECT_EQ(rows["hopeless"].skipped, "estimated 25.0 times as slow as the best");
  EXPECT_EQ(rows["refused"].skipped, "cannot run: it never can");
}

void run_round(Tuner& tuner, Net& net) {
  const std::size_t trials = tuner.trials();
  for (std::size_t trial = 0; trial < trials; ++trial) tuner.run(trial, [&] { net.forward(); });
}

TEST(Tuner, RunsOnWithThoseThatAreNotFarBehind) {
  Net net(net_of(toy_net(3, 2)), options_of());
  Tuner tuner(net);
  run_round(tuner, net);
  tuner.drop_beaten();  // "left", which two trials ran
  TunableLayer::used().clear();
  run_round(tuner, net);
  EXPECT_EQ(TunableLayer::used(), (std::vector<std::string>{"slow+right", "quick+right", "as_quick+right"}));
  tuner.drop_beaten();
  TunableLayer::used().clear();
  run_round(tuner, net);
  EXPECT_EQ(TunableLayer::used(), (std::vector<std::string>{"quick+right", "as_quick+right"}));
  EXPECT_EQ(tuner.best(), (PlanBook{{"toy/forward", "quick"}, {"toy/backward", "right"}}));
  for (const auto& row : tuner.rows()) {
    if (row.option.candidate == "slow") { EXPECT_EQ(row.seconds, 4) << "what was measured stays known"; }
  }
}

TEST(Tuner, OneBusyMomentDropsNobody) {
  Net net(net_of(toy_net(3, 2)), options_of());
  Tuner tuner(net);
  TunableLayer::busy() = {1, 20, 1};  // "quick" takes 20 s
  run_round(tuner, net);
  tuner.drop_beaten();
  EXPECT_EQ(tuner.best().at("toy/forward"), "as_quick");
  run_round(tuner, net);
  EXPECT_EQ(tuner.best().at("toy/forward"), "quick");
}

TEST(Tuner, RunsOnWithThoseThatNoiseHides) {
  Net net(net_of(toy_net(3, 2)), options_of());
  Tuner tuner(net);
  TunableLayer::busy() = {1, 1.5, 1};  // "quick" and "right" take half as long again
  for (int round = 0; round < 2; ++round) {
    run_round(tuner, net);
    tuner.drop_beaten();
  }
  for (const auto& row : tuner.rows()) {
    if (row.option.candidate == "quick") { EXPECT_DOUBLE_EQ(row.spread, 0.5); }
    if (row.option.candidate == "slow") { EXPECT_EQ(row.spread, 0); }
  }
  EXPECT_EQ(tuner.keep_doubtful(), 2u);
  TunableLayer::used().clear();
  run_round(tuner, net);
  EXPECT_EQ(TunableLayer::used(), (std::vector<std::string>{"quick+left", "as_quick+right"}));
  EXPECT_EQ(tuner.keep_doubtful(), 0u);
  EXPECT_EQ(tuner.trials(), 1u) << "the fastest alone";
  EXPECT_EQ(tuner.best(), (PlanBook{{"toy/forward", "quick"}, {"toy/backward", "right"}}));
}

TEST(Tuner, WithAFewTrialsTheLikeliest) {
  Net net(net_of(toy_net(3, 2)), options_of());
  Tuner tuner(net, 1);
  ASSERT_EQ(tuner.trials(), 1u);
  tuner.run(0, [&] { net.forward(); });
  EXPECT_EQ(tuner.best(), (PlanBook{{"toy/forward", "slow"}, {"toy/backward", "left"}}));
  for (const auto& row : tuner.rows()) {
    if (row.option.candidate == "quick") { EXPECT_EQ(row.skipped, "others are likelier"); }
  }
}

TEST(Tuner, WhatWasNotMeasuredIsNotChosen) {
  Net net(net_of(toy_net(3, 2)), options_of());
  Tuner tuner(net);
  tuner.run(0, [] {});  // as the first layer's input gradient, which nobody needs
  TuningTable table(TuningKey{});
  tuner.add_to(table);
  EXPECT_TRUE(table.empty());
  for (const auto& row : tuner.rows()) EXPECT_FALSE(row.chosen) << row.option.candidate;
}

class ChoosingTest : public ::testing::Test {
 protected:
  SolverOptions options() {
    SolverOptions made = toy_options();
    made.layers = &tunable_layers();
    return made;
  }
  caffe::SolverParameter parameter(const std::string& more) {
    auto made = solver_of("base_lr: 0.1 lr_policy: 'fixed' " + more, toy_net(3, 2));
    made.set_snapshot_prefix(folder_.file("toy"));
    return made;
  }
  TemporaryFolder folder_;
};

TEST_F(ChoosingTest, TakesTwoIterationsAfterTheFirst) {
  auto choosing = options();
  choosing.choose_plans = true;
  Solver solver(parameter(""), choosing);
  TunableLayer::used().clear();
  solver.step(5);
  EXPECT_EQ(TunableLayer::used(),
            (std::vector<std::string>{"slow+left", "slow+left", "quick+right", "quick+right", "quick+right"}));
}

TEST_F(ChoosingTest, AResumedRunKeepsThePlansOfItsSnapshot) {
  auto choosing = options();
  choosing.choose_plans = true;
  Solver first(parameter(""), choosing);
  first.step(3);
  const std::string state = first.snapshot();
  Solver second(parameter(""), choosing);
  second.restore(state);
  TunableLayer::used().clear();
  second.step(2);
  EXPECT_EQ(TunableLayer::used(), (std::vector<std::string>{"quick+right", "quick+right"}));
}

TEST_F(ChoosingTest, ATuningTableIsFollowedFromTheStart) {
  TuningTable table(TuningKey(group_of("reference").spec(), {}, "build"));
  table.set({"forward", "n3", "quick", "", 0}, 1);
  table.set({"backward", "n4", "right", "", 0}, 1);  // of another shape
  auto tuned = options();
  tuned.tuning = &table;
  Solver solver(parameter(""), tuned);
  TunableLayer::used().clear();
  solver.step(1);
  EXPECT_EQ(TunableLayer::used(), (std::vector<std::string>{"quick+left"}));
}

}  // namespace
}  // namespace cortado::test::tuner_test
