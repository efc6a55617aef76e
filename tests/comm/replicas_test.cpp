#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <thread>
#include <vector>

#include "comm/exchange/packed_allreduce.h"
#include "comm/node_cpus.h"
#include "comm/wait/watchdog.h"
#include "tests/support/layer_rig.h"
#include "tests/support/mpi_main.h"
#include "tests/support/toy_solver.h"

namespace cortado::test::replicas_test {
namespace {
TEST(MpiReplicas, Sums) {
  const MpiReplicas& replicas = job().replicas();
  const int n = replicas.size();
  for (const int count : {0, 1, 2, 1025}) {
    std::vector<double> values;
    for (int i = 0; i < count; ++i) values.push_back(i * 0.5 + replicas.rank());
    replicas.sum(values.data(), count);
    for (int i = 0; i < count; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], n * i * 0.5 + n * (n - 1) / 2.0);
  }
}

TEST(MpiReplicas, TakesTheMaximum) {
  const MpiReplicas& replicas = job().replicas();
  std::vector<i64> values = {replicas.rank(), -replicas.rank(), (i64{1} << 40) * replicas.rank()};
  replicas.maximum(values.data(), 3);
  EXPECT_EQ(values, (std::vector<i64>{replicas.size() - 1, 0, (i64{1} << 40) * (replicas.size() - 1)}));
}

TEST(Watchdog, LooksAfterTheMainThreadsOfAllRanksOrOfNone) {
  const MpiReplicas& replicas = job().replicas();
  const i64 is_watched = Watchdog::of_this_thread() != nullptr ? 1 : 0;
  std::vector<i64> most = {is_watched, -is_watched};
  replicas.maximum(most.data(), 2);
  EXPECT_EQ(most[0], -most[1]);
  EXPECT_TRUE(replicas.size() > 1 || is_watched == 0);
  std::thread other([&] {
    EXPECT_EQ(Watchdog::of_this_thread(), nullptr);
    std::vector<double> values(2000, 0.5);  // too long for messages of our own
    replicas.sum(values.data(), 2000);
    EXPECT_EQ(values[1999], 0.5 * replicas.size());
  });
  other.join();
}

TEST(MpiReplicas, SpreadsTheRootsTextAndValues) {
  const MpiReplicas& replicas = job().replicas();
  const bool root = replicas.rank() == 0;
  EXPECT_EQ(replicas.from_root(root ? std::string("a\0b", 3) : "something longer"), std::string("a\0b", 3));
  EXPECT_EQ(replicas.from_root(root ? "" : "x"), "");
  std::vector<float> values(1000, static_cast<float>(replicas.rank()));
  values[7] += 0.5f;
  replicas.from_root(values.data(), 1000);
  EXPECT_EQ(values[7], 0.5f);
  EXPECT_EQ(values[999], 0);
}

TEST(MpiJob, KnowsTheNode) {
  EXPECT_EQ(job().local_size(), job().size()) << "tests run on one node";
  EXPECT_EQ(job().local_rank(), job().rank());
}

TEST(MpiJob, SharesTheCpusOut) {
  EXPECT_GE(job().own_cpus(), 1);
  const int cpus = static_cast<int>(std::thread::hardware_concurrency());
  EXPECT_LE(job().own_cpus() * job().size(), std::max(cpus, job().size()));
}

TEST(NodeCpus, CrowdedOnesAreTold) {
  const auto set = [](std::initializer_list<int> cpus) {
    CpuSet all;
    for (const int cpu : cpus) all.add(cpu);
    return all;
  };
  const CpuSet node = set({0, 1, 2, 3}), one = set({0}), half = set({0, 1}), rest = set({2, 3});
  EXPECT_EQ(crowding_of({one, one}, node), "2 of its ranks may run on CPU 0 alone, of CPUs 0-3");
  EXPECT_EQ(crowding_of({one, one, rest}, node), "2 of its ranks may run on CPU 0 alone, of CPUs 0-3");
  EXPECT_EQ(crowding_of({half, half, one}, node), "3 of its ranks may run on CPUs 0-1 alone, of CPUs 0-3");
  for (const auto& good : std::vector<std::vector<CpuSet>>{{one, set({1})}, {half, half}, {half, rest}, {node, one}})
    EXPECT_EQ(crowding_of(good, node), "");
  EXPECT_EQ(crowding_of({half, half, half}, half), "") << "there are no others";
}

TEST(MpiJob, GathersTexts) {
  std::string mine(static_cast<std::size_t>(job().rank()), 'x');  // rank 0's is empty
  const auto all = job().gather(mine);
  ASSERT_EQ(all.size(), job().rank() == 0 ? static_cast<std::size_t>(job().size()) : 0u);
  for (std::size_t rank = 0; rank < all.size(); ++rank) EXPECT_EQ(all[rank], std::string(rank, 'x'));
  EXPECT_FALSE(job().host().empty());
}

TEST(PackedAllreduce, AveragesTheArena) {
  const MpiReplicas& replicas = job().replicas();
  JobTeam team(replicas.communicator(), group_of("reference"));
  PackedAllreduce exchange(team, group_of("reference"));
  auto options = toy_options();
  NetOptions net_options;
  net_options.group = options.group;
  net_options.layers = options.layers;
  net_options.replicas = &replicas;
  Net net(net_of(toy_net(77, 2)), net_options);
  std::vector<float> expected(77);
  for (int rank = 0; rank < replicas.size(); ++rank) {
    const auto values = noise_vector(static_cast<std::uint64_t>(rank), 77);
    for (std::size_t i = 0; i < 77; ++i) expected[i] += values[i] / static_cast<float>(replicas.size());
  }
  net.clear_gradients();
  net.learnable()[0].blob->write_diff(noise_vector(static_cast<std::uint64_t>(replicas.rank()), 77).data());
  const float factor = exchange.finish(net);
  auto actual = net.learnable()[0].blob->diff_vector();
  for (float& value : actual) value *= factor;
  expect_near(actual, expected, 1e-6f, 1e-5f);
}
}  // namespace
}  // namespace cortado::test::replicas_test
