#include "comm/node_cpus.h"

#include <algorithm>

#include "comm/wait/calls.h"

namespace cortado {
namespace {
bool lies_in(const CpuSet& inner, const CpuSet& outer) {
  for (int cpu = 0; cpu < inner.end(); ++cpu)
    if (inner.contains(cpu) && !outer.contains(cpu)) return false;
  return true;
}

std::string text_of(const CpuSet& cpus) { return (cpus.count() == 1 ? "CPU " : "CPUs ") + cpus.text(); }
}  // namespace

std::vector<CpuSet> cpus_of_ranks(MPI_Comm node) {
  std::vector<std::uint64_t> own = HostTopology::here().own_cpus().words();
  int words = static_cast<int>(own.size()), ranks = 1;
  all_reduce(node, "words of the ranks' processors", &words, 1, MPI_INT, MPI_MAX);
  MPI_Comm_size(node, &ranks);
  const auto each = static_cast<std::size_t>(words);
  own.resize(each);
  std::vector<std::uint64_t> all(each * static_cast<std::size_t>(ranks));
  all_gather(node, "processors of the node's ranks", own.data(), words * static_cast<int>(sizeof own[0]), all.data());
  std::vector<CpuSet> cpus;
  for (auto first = all.begin(); first != all.end(); first += words)
    cpus.emplace_back(std::vector<std::uint64_t>(first, first + words));
  return cpus;
}

std::string crowding_of(const std::vector<CpuSet>& ranks, const CpuSet& node) {
  CpuSet used, crowded;
  for (const CpuSet& cpus : ranks) {
    used |= cpus;
    const auto users =
        std::count_if(ranks.begin(), ranks.end(), [&](const CpuSet& other) { return lies_in(other, cpus); });
    if (users > cpus.count()) crowded |= cpus;
  }
  if (crowded.count() == 0 || lies_in(node, used)) return "";
  const auto users =
      std::count_if(ranks.begin(), ranks.end(), [&](const CpuSet& cpus) { return lies_in(cpus, crowded); });
  return std::to_string(users) + " of its ranks may run on " + text_of(crowded) + " alone, of " + text_of(node);
}

}  // namespace cortado
