// Models of collectives, and the choices that follow from them and from rules.
#include "comm/collective/choice.h"

#include <gtest/gtest.h>

#include <cmath>

#include "comm/collective/measure_network.h"
#include "comm/job_team.h"
#include "tests/support/mpi_main.h"

namespace cortado::test::choice_test {
namespace {
constexpr double alpha = 1e-3, bandwidth = 1e8;

/// A network of one kind of link.
Network network_of(bool in_order) {
  const Link link{{{0, alpha}}, bandwidth, 1e-5, in_order};
  Network network;
  network.in_node = network.inside = network.across = link;
  return network;
}

/// A team of nodes of one rank, for models alone.
struct PaperTeam {
  explicit PaperTeam(int ranks, int supernode = 0) : topology(Topology::regular(ranks, 1, supernode)) {
    team.topology = &topology;
  }
  Topology topology;
  Team team;
};

TEST(Link, GoesThroughWhatWasMeasured) {
  const Link link = Link::through({{8, 1e-3}, {1000, 4e-3}, {2000, 5e-3}});
  EXPECT_DOUBLE_EQ(link.seconds(8), 1e-3);
  EXPECT_DOUBLE_EQ(link.seconds(504), 2.5e-3);
  EXPECT_DOUBLE_EQ(link.seconds(2000), 5e-3);
  EXPECT_DOUBLE_EQ(link.seconds(12000), 15e-3) << "goes on as between the last two";
  EXPECT_DOUBLE_EQ(link.shared_by(0.25).seconds(4 * 504), 2.5e-3) << "alone, it takes four times as much";
  const Link odd = Link::through({{8, 1e-3}, {1000, 4e-3}, {2000, 4e-3}});
  EXPECT_GT(odd.bandwidth, 0);
  EXPECT_TRUE(std::isfinite(odd.seconds(1e9))) << "a time that does not grow is no infinite bandwidth";
}

TEST(Link, LibrarysTimesAreInterpolated) {
  const std::vector<Link::Point> points = {{4096, 1}, {16384, 3}, {65536, 2}};
  EXPECT_DOUBLE_EQ(on_line(points, 100), 1);
  EXPECT_DOUBLE_EQ(on_line(points, 10240), 2);
  EXPECT_DOUBLE_EQ(on_line(points, 1e6), 2) << "does not fall behind the last";
  EXPECT_DOUBLE_EQ(on_line({{0, 1}, {10, 2}}, 30), 4);
  EXPECT_DOUBLE_EQ(on_line({}, 30), 0);
}

TEST(Choice, ChunkFollowsTheFormula) {
  constexpr i64 bytes = i64{1} << 26;
  for (const int ranks : {4, 16, 64}) {
    const JobShape job = shape_of(Topology::regular(ranks, 1, 0));
    const double due = std::sqrt(static_cast<double>(bytes) * alpha * bandwidth / (ranks - 2));
    EXPECT_NEAR(static_cast<double>(8 * pipelined_chain().chunk(network_of(false), job, bytes)), due, 0.01 * due)
        << "a window of chunks goes on as one";
    const double in_order = std::sqrt(static_cast<double>(bytes) * alpha / 8 * bandwidth / (ranks - 2));
    EXPECT_NEAR(static_cast<double>(pipelined_chain().chunk(network_of(true), job, bytes)), in_order, 0.01 * in_order);
    for (const Algorithm& algorithm : {pipelined_chain(), pipelined_chain_reduce()}) {
      const CollectiveChoice best = with_settings(algorithm, network_of(false), job, bytes);
      for (const double factor : {0.5, 2.0}) {
        CollectiveChoice other = best;
        other.chunk_bytes = static_cast<i64>(factor * static_cast<double>(best.chunk_bytes));
        // The chunk of a reduce is that of whole windows; its model knows that half of one is waited for.
        EXPECT_LE(best.cost(network_of(false), job, bytes), 1.02 * other.cost(network_of(false), job, bytes));
      }
    }
  }
  const JobShape pair = shape_of(Topology::regular(2, 1, 0));
  EXPECT_EQ(pipelined_chain().chunk(network_of(true), pair, bytes), bytes) << "two ranks pass nothing on";
}

TEST(Choice, RadixFollowsTheModel) {
  const JobShape job = shape_of(Topology::regular(16, 1, 0));
  const auto radix = [&](i64 bytes) { return with_settings(knomial_broadcast(), network_of(true), job, bytes).radix; };
  EXPECT_EQ(radix(4), 16) << "latency alone: all at once";
  EXPECT_EQ(radix(i64{1} << 24), 2) << "bytes alone: as few as can be from one rank";
  EXPECT_GT(radix(i64{1} << 15), 2);
  EXPECT_LT(radix(i64{1} << 15), 16);
}

TEST(Choice, TakesTheLibraryWhereItIsFastest) {
  const PaperTeam paper(4);
  Network network = network_of(true);
  const auto chosen = [&](i64 bytes) {
    return choose_by_model("allreduce", paper.team, network, bytes).algorithm->name;
  };
  EXPECT_NE(chosen(4096), "library") << "it has not been measured";
  network.library["allreduce"] = {{4096, alpha / 2}, {65536, 1}};
  EXPECT_EQ(chosen(4096), "library");
  EXPECT_NE(chosen(65536), "library");
}

TEST(Choice, KnowsSupernodesAndSlowNetworks) {
  Network network = network_of(true);
  network.across.bandwidth = bandwidth / 4;
  const PaperTeam paper(16, 4);
  const JobShape job = shape_of(paper.topology);
  const auto cost = [&](const Algorithm& algorithm) { return algorithm.cost(network, job, i64{1} << 24, 1 << 20, 2); };
  EXPECT_LT(cost(circulant()), cost(natural_halving()));
  EXPECT_NEAR(cost(circulant()), cost(round_robin_halving()), 1e-9);
  EXPECT_NE(choose_by_model("allreduce", paper.team, network, i64{1} << 24).algorithm->name, "halving");
  EXPECT_NE(choose_by_model("broadcast", paper.team, network, i64{1} << 24).algorithm->name, "direct");
}

TEST(Rules, AreInterpolatedOverRanks) {
  const std::vector<CollectiveRule> rules = {{"broadcast", 4, 4, 0, -1, "chain_pipelined", 1 << 16},
                                             {"broadcast", 16, 16, 0, -1, "chain_pipelined", 1 << 18},
                                             {"broadcast", 64, 64, 0, 999, "knomial", 0, 2},
                                             {"broadcast", 256, 64, 0, -1, "direct"}};
  const auto chosen = [&](int ranks, i64 bytes) {
    const PaperTeam paper(ranks);
    return choose_by_rules(rules, "broadcast", paper.team, network_of(true), bytes);
  };
  EXPECT_EQ(chosen(4, 5000)->chunk_bytes, 1 << 16);
  EXPECT_EQ(chosen(8, 5000)->algorithm->name, "chain_pipelined");
  EXPECT_EQ(chosen(8, 5000)->chunk_bytes, 1 << 17) << "half way in powers of two";
  EXPECT_EQ(chosen(20, 500)->algorithm->name, "chain_pipelined") << "16 is nearer";
  EXPECT_EQ(chosen(40, 500)->algorithm->name, "knomial") << "64 is nearer";
  EXPECT_FALSE(chosen(40, 5000)) << "no rule of 64 ranks fits, and beyond the last nothing is known";
  EXPECT_FALSE(chosen(2, 5000));
  EXPECT_FALSE(chosen(128, 500)) << "256 ranks are four on a node";
}

/// What is measured is usable whatever the machine does, with levels of the job's topology and without.
TEST(MeasuredNetwork, HasFiniteTimesAtEveryLevel) {
  const MPI_Comm all = job().replicas().communicator();
  for (const int supernode : {0, 1}) {
    JobTeam team(all, std::make_unique<HostSum>(), TopologyOptions{"", supernode});
    const Network network = measure_network(team.team(), true);
    for (const Link& link : {network.in_node, network.inside, network.across})
      for (const double bytes : {0.0, 1e3, 1e9}) {
        EXPECT_TRUE(std::isfinite(link.seconds(bytes)));
        EXPECT_TRUE(std::isfinite(link.bandwidth) && link.bandwidth > 0);
      }
    const JobShape shape = shape_of(team.topology());
    for (const char* collective : {"allreduce", "reduce", "broadcast"})
      for (const Algorithm& algorithm : algorithms_of(collective)) {
        const double seconds = with_settings(algorithm, network, shape, 1 << 20).cost(network, shape, 1 << 20);
        EXPECT_TRUE(std::isfinite(seconds) && seconds >= 0) << algorithm.name;
        if (job().size() > 1 && algorithm.why_not(team.team()).empty()) { EXPECT_GT(seconds, 0) << algorithm.name; }
      }
  }
}

}  // namespace
}  // namespace cortado::test::choice_test
