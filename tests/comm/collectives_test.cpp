// The collectives on real ranks. That they are right at 1 to 17 ranks is tested on simulated ones (smpi/right); here
// are the sums on compute clusters, shared memory, and what happens when a rank does not come.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <numeric>
#include <thread>

#include "comm/collective/node_memory.h"
#include "comm/job_team.h"
#include "core/base/error.h"
#include "tests/support/backends.h"
#include "tests/support/layer_rig.h"
#include "tests/support/mpi_main.h"
#include "tests/support/temporary_folder.h"

namespace cortado::test::collectives_test {
namespace {

std::vector<i64> lengths() {
  const i64 p = job().size();
  return {0, 1, 2, p - 1, p, p + 1, 1009, 300007};
}

/// The job's ranks on one node, and on nodes of two.
std::vector<TopologyOptions> topologies(const std::string& folder) {
  std::string lines;
  for (int r = 0; r < job().size(); ++r)
    lines += "node" + std::to_string(r / 2) + " super" + std::to_string(r / 4) + "\n";
  std::ofstream(folder + "/pairs") << lines;
  return {{}, {folder + "/pairs", 0}};
}

class CollectivesTest : public ::testing::TestWithParam<std::string> {
 protected:
  JobTeam team_{job().replicas().communicator(), group_of(GetParam())};
};

/// To the bit.
bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

bool same_on_all_ranks(const std::vector<float>& values) {
  std::vector<float> roots = values;
  job().replicas().from_root(roots.data(), static_cast<i64>(roots.size()));
  return same(roots, values);
}

/// An allreduce, or a reduce, which leaves the sum on the team's root only.
void check_sums(const JobTeam& team, const Algorithm& algorithm, bool on_all) {
  for (const i64 count : lengths()) {
    const auto n = static_cast<std::size_t>(count);
    std::vector<float> expected(n), first;
    for (int r = 0; r < job().size(); ++r) {
      const auto part = noise_vector(static_cast<std::uint64_t>(r) + 1, count);
      for (std::size_t i = 0; i < n; ++i) expected[i] += part[i];
    }
    for (int run = 0; run < 2; ++run) {
      std::vector<float> values = noise_vector(static_cast<std::uint64_t>(job().rank()) + 1, count);
      algorithm.run(team.team(), {values.data(), count, Precision::fp32});
      if (on_all) { EXPECT_TRUE(same_on_all_ranks(values)) << algorithm.name << " " << count; }
      if (!on_all && job().rank() != team.team().root) continue;
      expect_near(values, expected, 1e-5f, 1e-5f);
      if (run == 1) { EXPECT_TRUE(same(values, first)) << algorithm.name << " " << count; }
      first = values;
    }
  }
}

TEST_P(CollectivesTest, AllreducesAgreeWithTheSumAndAmongRanksAndRuns) {
  const TemporaryFolder folder;
  for (const auto& options : topologies(folder.path().string())) {
    const JobTeam team(job().replicas().communicator(), group_of(GetParam()), options);
    for (const Algorithm& algorithm : allreduce_algorithms())
      if (algorithm.why_not(team.team()).empty()) check_sums(team, algorithm, true);
  }
}

TEST_P(CollectivesTest, AllreducesOfBf16) {
  for (const Algorithm& algorithm : allreduce_algorithms()) {
    if (!algorithm.why_not(team_.team()).empty()) continue;
    for (const i64 count : lengths()) {
      std::vector<bf16> values;
      for (i64 i = 0; i < count; ++i) values.emplace_back(static_cast<float>((i + job().rank()) % 7));
      algorithm.run(team_.team(), {values.data(), count, Precision::bf16});
      for (i64 i = 0; i < count; ++i) {
        float sum = 0;
        for (int r = 0; r < job().size(); ++r) sum += static_cast<float>((i + r) % 7);
        ASSERT_EQ(static_cast<float>(values[static_cast<std::size_t>(i)]), sum) << algorithm.name << " " << count;
      }
    }
  }
}

TEST_P(CollectivesTest, ReducesSumOnTheRoot) {
  const TemporaryFolder folder;
  for (const auto& options : topologies(folder.path().string())) {
    JobTeam team(job().replicas().communicator(), group_of(GetParam()), options);
    for (const Algorithm& algorithm : reduce_algorithms())
      for (const i64 chunk : {400, 1 << 20}) {
        if (!algorithm.why_not(team.team()).empty()) continue;
        team.team().chunk_bytes = chunk;
        team.team().radix = chunk == 400 ? 3 : 2;
        for (team.team().root = 0; team.team().root < job().size(); ++team.team().root)
          check_sums(team, algorithm, false);
      }
  }
}

TEST_P(CollectivesTest, BroadcastsGiveTheRootsValues) {
  const TemporaryFolder folder;
  for (const auto& options : topologies(folder.path().string())) {
    JobTeam team(job().replicas().communicator(), group_of(GetParam()), options);
    for (const Algorithm& algorithm : broadcast_algorithms()) {
      if (!algorithm.why_not(team.team()).empty()) continue;
      for (const i64 count : lengths())
        for (int root = 0; root < job().size(); ++root) {
          const i64 chunk = root % 2 == 0 ? 400 : 1 << 20;
          std::vector<float> values = noise_vector(static_cast<std::uint64_t>(job().rank()) + 1, count);
          team.run({&algorithm, chunk, root % 3 + 2}, {values.data(), count, Precision::fp32}, root);
          EXPECT_EQ(values, noise_vector(static_cast<std::uint64_t>(root) + 1, count))
              << algorithm.name << " " << count << " from " << root;
        }
    }
  }
}

TEST_P(CollectivesTest, NamesAreChecked) {
  EXPECT_THROW(team_.allreduce("no such", 4), ConfigError);
  EXPECT_EQ(team_.allreduce("ring", 4).algorithm->name, "ring");
  EXPECT_FALSE(team_.allreduce("auto", 4).algorithm->name.empty());
  EXPECT_FALSE(team_.broadcast("auto", 1 << 24).algorithm->name.empty());
  EXPECT_FALSE(team_.reduce("auto", 1 << 24).algorithm->name.empty());
  EXPECT_THROW(team_.choose("gather", "auto", 4), ConfigError);
  if (job().size() == 1) { EXPECT_THROW(team_.allreduce("two_level", 4), ConfigError); }
}

TEST_P(CollectivesTest, TheFirstRuleThatFitsDecides) {
  const int ranks = job().size();
  team_.set_rules({{"broadcast", 0, 0, 0, -1, "chain", 0},
                   {"allreduce", ranks + 1, 0, 0, -1, "ring", 0},
                   {"allreduce", 0, 7, 0, -1, "ring", 0},
                   {"allreduce", ranks, 1, 100, 200, "circulant", 0},
                   {"allreduce", 0, 0, 150, -1, "ring_pipelined", 12}});
  const auto chosen = [&](i64 bytes) { return team_.allreduce("auto", bytes).algorithm->name; };
  EXPECT_EQ(chosen(100), "circulant");
  EXPECT_EQ(chosen(200), "circulant");
  EXPECT_EQ(chosen(201), "ring_pipelined");
  EXPECT_EQ(team_.allreduce("auto", 201).chunk_bytes, 12);
  // No rule: the model. Ranks that share processors keep away from the library, which waits busily.
  const bool crowded = ranks > 1 && team_.team().node->is_crowded();
  EXPECT_EQ(chosen(99), crowded ? "two_level" : "library");
  if (ranks > static_cast<int>(std::thread::hardware_concurrency())) { EXPECT_TRUE(crowded); }
  EXPECT_EQ(team_.allreduce("halving", 201).algorithm->name, "halving");
  EXPECT_EQ(team_.broadcast("auto", 5).algorithm->name, "chain");
  std::vector<float> values(101, 1);
  team_.run(team_.allreduce("auto", 404), {values.data(), 101, Precision::fp32});
  EXPECT_EQ(values, std::vector<float>(101, static_cast<float>(ranks)));
}

std::string name_of(const ::testing::TestParamInfo<std::string>& info) { return info.param; }
INSTANTIATE_TEST_SUITE_P(Backends, CollectivesTest, ::testing::ValuesIn(job_backends(0)), name_of);

TEST(Topology, RoundRobinPutsNeighboursIntoDifferentSupernodes) {
  const Topology even = Topology::regular(8, 1, 4);
  EXPECT_EQ(even.supernodes(), 2);
  EXPECT_EQ(even.largest_supernode(), 4);
  EXPECT_EQ(even.round_robin(), (std::vector<int>{0, 4, 1, 5, 2, 6, 3, 7}));  // swCaffe figure 7
  const Topology uneven = Topology::regular(7, 1, 3);
  EXPECT_EQ(uneven.round_robin(), (std::vector<int>{0, 3, 6, 1, 4, 2, 5}));
  const Topology nodes = Topology::regular(6, 2, 2);
  EXPECT_EQ(nodes.nodes(), 3);
  EXPECT_EQ(nodes.supernode, (std::vector<int>{0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(nodes.describe(), "6 ranks on 3 nodes in 2 supernodes");
}

TEST(Topology, TakesSlurmsSwitches) {
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  setenv("SLURM_TOPOLOGY_ADDR_PATTERN", "switch.switch.node", 1);
  setenv("SLURM_TOPOLOGY_ADDR", ("top.leaf" + std::to_string(rank / 2) + ".node" + std::to_string(rank)).c_str(), 1);
  const Topology switches = Topology::of_job(MPI_COMM_WORLD, 0), declared = Topology::of_job(MPI_COMM_WORLD, 1);
  unsetenv("SLURM_TOPOLOGY_ADDR");
  unsetenv("SLURM_TOPOLOGY_ADDR_PATTERN");
  for (int r = 0; r < size; ++r) EXPECT_EQ(switches.supernode[static_cast<std::size_t>(r)], r / 2);
  EXPECT_EQ(declared.supernodes(), declared.nodes());
  EXPECT_EQ(Topology::of_job(MPI_COMM_WORLD, 0).supernodes(), 1);
}

TEST(Topology, ReadsFiles) {
  const TemporaryFolder folder;
  const auto named = Topology::from_file(folder.write("a", "# job\nn1 east\nn1 east\n\nn2 west\n"), 3, 0);
  EXPECT_EQ(named.node, (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(named.supernode, (std::vector<int>{0, 0, 1}));
  const auto filled = Topology::from_file(folder.write("b", "n1\nn2\nn3\n"), 3, 2);
  EXPECT_EQ(filled.supernode, (std::vector<int>{0, 0, 1}));
  EXPECT_THROW(Topology::from_file(folder.file("a"), 4, 0), ConfigError);
  EXPECT_THROW(Topology::from_file(folder.write("c", "n1 a\nn2\n"), 2, 0), ConfigError);
  EXPECT_THROW(Topology::from_file(folder.file("absent"), 2, 0), FileError);
}

TEST(Topology, OfTheJobIsOneNode) {
  const auto topology = Topology::of_job(job().replicas().communicator(), 0);
  EXPECT_EQ(topology.ranks(), job().size());
  EXPECT_EQ(topology.nodes(), 1);
}

}  // namespace
}  // namespace cortado::test::collectives_test
