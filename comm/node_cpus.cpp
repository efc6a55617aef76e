#include "comm/node_cpus.h"

#include "comm/wait/calls.h"

namespace cortado {

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

}  // namespace cortado
