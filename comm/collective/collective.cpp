#include "comm/collective/collective.h"

#include <algorithm>

#include "core/base/error.h"

namespace cortado {

namespace {
/// The most ranks of a group whose next rank is in another one; 1 at least.
int most_exits(const std::vector<int>& group) {
  std::map<int, int> exits;
  for (std::size_t r = 0; r < group.size(); ++r)
    if (group[r] != group[(r + 1) % group.size()]) ++exits[group[r]];
  int most = 1;
  for (const auto& [number, count] : exits) most = std::max(most, count);
  return most;
}

/// Consecutive ranks that share a node; 1 where ranks go round the nodes.
int ranks_in_row(const JobShape& job) { return job.node_exits > 1 ? 1 : job.node_ranks; }
}  // namespace

JobShape shape_of(const Topology& topology) {
  return {topology.ranks(), topology.largest_supernode(), topology.ranks() / std::max(1, topology.nodes()),
          most_exits(topology.node), most_exits(topology.supernode)};
}

const Link& link_at(const Network& net, const JobShape& job, int distance) {
  if (job.supernode_exits == 1 ? distance >= job.supernode_ranks : job.supernodes() > 1) return net.across;
  return distance >= ranks_in_row(job) ? net.inside : net.in_node;
}

Link lone_link_at(const Network& net, const JobShape& job, int distance) {
  const Link& link = link_at(net, job, distance);
  const int senders = &link == &net.across ? job.supernode_ranks : &link == &net.inside ? job.node_ranks : 1;
  return link.shared_by(1.0 / std::max(1, senders));
}

Link neighbour_link(const Network& net, const JobShape& job, double bytes) {
  std::vector<Link> links;
  if (ranks_in_row(job) > 1) links.push_back(net.in_node);
  if (job.supernode_ranks > job.node_ranks)
    links.push_back(net.inside.shared_by(static_cast<double>(job.node_exits) / std::max(1, job.node_ranks)));
  if (job.supernodes() > 1)
    links.push_back(net.across.shared_by(static_cast<double>(job.supernode_exits) / std::max(1, job.supernode_ranks)));
  if (links.empty()) return net.in_node;
  return *std::max_element(links.begin(), links.end(),
                           [&](const Link& a, const Link& b) { return a.seconds(bytes) < b.seconds(bytes); });
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
