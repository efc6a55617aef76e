#include "backends/kokkos/binding.h"

#include <algorithm>

#include "backends/kokkos/space.h"

namespace cortado::kokkos {

std::vector<CpuSet> cpus_of_threads(int threads) {
  const HostTopology& node = HostTopology::here();
  std::vector<CpuSet> cpus(static_cast<std::size_t>(threads));
  CpuSet* const of_thread = cpus.data();
  Kokkos::parallel_for("binding", Kokkos::RangePolicy<Kokkos::OpenMP>(0, threads, Kokkos::ChunkSize(1)),
                       [=, &node](int i) { of_thread[i] = node.own_cpus(); });
  return cpus;
}

std::string describe_binding(const std::vector<CpuSet>& cpus) {
  const bool shared = std::all_of(cpus.begin(), cpus.end(), [&](const CpuSet& c) { return c == cpus[0]; });
  std::string text = "on CPUs " + cpus[0].text();
  for (std::size_t i = 1; i < cpus.size() && !shared; ++i) text += "|" + cpus[i].text();
  return text;
}

}  // namespace cortado::kokkos
