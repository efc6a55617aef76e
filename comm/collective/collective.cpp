#include "comm/collective/collective.h"

#include <algorithm>

#include "core/base/error.h"

namespace cortado {

JobShape shape_of(const Topology& topology) {
  return {topology.ranks(), topology.largest_supernode(), topology.ranks() / std::max(1, topology.nodes())};
}

const std::vector<Algorithm>& allreduce_algorithms() {
  static const std::vector<Algorithm> all = {
      natural_halving(), round_robin_halving(), near_first_halving(), circulant(), ring(),
      pipelined_ring(),  two_level_allreduce(), library_allreduce()};
  return all;
}

const std::vector<Algorithm>& reduce_algorithms() {
  static const std::vector<Algorithm> all = {knomial_reduce(), pipelined_chain_reduce(), two_level_reduce(),
                                             library_reduce()};
  return all;
}

const std::vector<Algorithm>& broadcast_algorithms() {
  static const std::vector<Algorithm> all = {direct_broadcast(),  chain_broadcast(),   pipelined_chain(),
                                             knomial_broadcast(), scatter_broadcast(), two_level_broadcast(),
                                             library_broadcast()};
  return all;
}

const std::vector<Algorithm>& algorithms_of(const std::string& collective) {
  if (collective == "allreduce") return allreduce_algorithms();
  if (collective == "reduce") return reduce_algorithms();
  if (collective == "broadcast") return broadcast_algorithms();
  throw ConfigError("collective '" + collective + "'", "is not known", "there are: allreduce, reduce, broadcast");
}

const Algorithm& find_algorithm(const std::vector<Algorithm>& all, const std::string& name) {
  std::string names;
  for (const Algorithm& algorithm : all) {
    if (algorithm.name == name) return algorithm;
    names += (names.empty() ? "" : ", ") + algorithm.name;
  }
  throw ConfigError("collective '" + name + "'", "is not known", "there are: " + names);
}

}  // namespace cortado
