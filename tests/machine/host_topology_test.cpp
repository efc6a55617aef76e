#include "core/machine/host_topology.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/support/temporary_folder.h"

namespace cortado::test::host_topology_test {
namespace {

CpuSet set_of(std::initializer_list<int> numbers) {
  CpuSet cpus;
  for (const int cpu : numbers) cpus.add(cpu);
  return cpus;
}

CpuSet range(int first, int end) {
  CpuSet cpus;
  for (int cpu = first; cpu < end; ++cpu) cpus.add(cpu);
  return cpus;
}

TEST(CpuSet, Text) {
  EXPECT_EQ(set_of({8, 0, 1, 2, 3}).text(), "0-3,8");
  EXPECT_EQ(set_of({200}).text(), "200");
  EXPECT_EQ(range(60, 70).text(), "60-69");
  EXPECT_EQ(CpuSet().text(), "?");
}

TEST(CpuSet, Sets) {
  CpuSet cpus = set_of({1});
  cpus |= set_of({130});
  EXPECT_EQ(cpus, set_of({130, 1}));
  EXPECT_EQ(cpus.count(), 2);
  EXPECT_EQ(cpus.end(), 131);
  EXPECT_FALSE(cpus == set_of({1}));
  EXPECT_EQ(CpuSet(std::vector<std::uint64_t>(3)), CpuSet());
  EXPECT_FALSE(cpus.contains(5000));
}

/// Two packages of two caches of four cores with two threads each.
TEST(HostTopology, CoresThatShareACache) {
  const HostTopology node = HostTopology::synthetic("package:2 l3:2(size=33554432) l2:4(size=1048576) core:1 pu:2");
  EXPECT_EQ(node.cpus(), range(0, 32));
  const HostTopology::Share all = node.share_of(node.cpus());
  EXPECT_EQ(all.l2, 1048576);
  EXPECT_EQ(all.last, 33554432);
  EXPECT_EQ(all.cores, 16);
  EXPECT_EQ(all.cache_cores, 4);
  EXPECT_EQ(all.l2_cores, 1);
  EXPECT_EQ(node.share_of(set_of({0, 1})).cores, 1) << "two threads of one core";
  EXPECT_EQ(node.share_of(set_of({0, 2})).cache_cores, 2);
  EXPECT_EQ(node.share_of(set_of({0, 8, 16, 24})).cache_cores, 1) << "a core of each cache";
  EXPECT_EQ(node.share_of(set_of({0, 8, 10})).cache_cores, 2);
  EXPECT_EQ(node.share_of(CpuSet()).cores, 0);
}

/// Where the second level is the last, pairs of cores share it.
TEST(HostTopology, NoThirdLevel) {
  const HostTopology node = HostTopology::synthetic("package:1 l2:4(size=2097152) core:2 pu:1");
  const HostTopology::Share share = node.share_of(range(0, 8));
  EXPECT_EQ(share.last, share.l2);
  EXPECT_EQ(share.cache_cores, 2);
  EXPECT_EQ(share.l2_cores, 2);
  EXPECT_EQ(node.share_of(set_of({0, 2, 4})).l2_cores, 1) << "a core of each";
}

TEST(HostTopology, NoCaches) {
  const HostTopology::Share share = HostTopology::synthetic("core:3 pu:1").share_of(range(0, 3));
  EXPECT_EQ(share.l2, 0);
  EXPECT_EQ(share.last, 0);
  EXPECT_EQ(share.cores, 3);
  EXPECT_EQ(share.cache_cores, 1);
  EXPECT_EQ(share.processor, "unknown processor");
}

/// As lstopo writes it, of a processor about which it tells that.
std::string xml_of(const std::string& processor) {
  return R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x3" complete_cpuset="0x3" allowed_cpuset="0x3" nodeset="0x1"
          complete_nodeset="0x1" allowed_nodeset="0x1" gp_index="1">
    <object type="NUMANode" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1"
            gp_index="2" local_memory="1048576"/>
    <object type="Package" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1"
            gp_index="3">
)" + processor +
         R"(
      <object type="L3Cache" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1" gp_index="4"
              cache_size="4096" depth="3" cache_linesize="64" cache_associativity="0" cache_type="0">
        <object type="Core" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1"
                gp_index="5">
          <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1"
                  gp_index="6"/>
        </object>
        <object type="Core" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x1" complete_nodeset="0x1"
                gp_index="7">
          <object type="PU" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x1" complete_nodeset="0x1"
                  gp_index="8"/>
        </object>
      </object>
    </object>
  </object>
</topology>
)";
}

TEST(HostTopology, Xml) {
  const TemporaryFolder folder;
  const std::string file = folder.write("node.xml", xml_of(R"(<info name="CPUModel" value="Toy"/>
      <info name="CPUFamilyNumber" value="6"/><info name="CPUModelNumber" value="9"/>)"));
  const HostTopology::Share share = HostTopology::xml(file).share_of(set_of({1}));
  EXPECT_EQ(share.processor, "Toy (family 6, model 9)");
  EXPECT_EQ(share.last, 4096);
  EXPECT_EQ(share.cores, 1);
}

TEST(HostTopology, ArmProcessorsAreNamed) {
  const TemporaryFolder folder;
  const auto name_of = [&](const std::string& implementer, const std::string& part) {
    const std::string file = folder.write("node.xml", xml_of(R"(<info name="CPUImplementer" value=")" + implementer +
                                                             R"("/><info name="CPUPart" value=")" + part + R"("/>)"));
    return HostTopology::xml(file).share_of(set_of({0})).processor;
  };
  EXPECT_EQ(name_of("0x46", "0x001"), "A64FX (implementer 0x46, part 0x001)");
  EXPECT_EQ(name_of("0x00", "0x051"), "ARM processor (implementer 0x00, part 0x051)");
}

TEST(HostTopology, MistakesAreNamed) {
  EXPECT_THROW(HostTopology::synthetic("twelve cores"), ConfigError);
  EXPECT_THROW(HostTopology::xml("/absent.xml"), ConfigError);
}

TEST(HostTopology, ThisNode) {
  const HostTopology& node = HostTopology::here();
  const CpuSet own = node.own_cpus();
  EXPECT_GT(own.count(), 0);
  const HostTopology::Share share = node.share_of(own);
  EXPECT_GE(share.cores, 1);
  EXPECT_LE(share.cache_cores, share.cores);
}

}  // namespace
}  // namespace cortado::test::host_topology_test
