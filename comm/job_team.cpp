#include "comm/job_team.h"

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/solver/core_groups.h"

namespace cortado {
namespace {
/// The bytes of a rank in the memory of its node: chunks that stay in the second-level cache.
constexpr i64 slot_bytes = 512 * 1024;
/// Below this the library's few microseconds within a node are not to be beaten, where each rank has a processor: MPICH
/// waits busily, and keeps those that it waits for from running where they share one.
constexpr i64 worth_sharing = 16 * 1024;

/// True if the ranks of each declared node are on one real node: a file may declare others.
bool shares_memory(const Topology& declared, const Topology& real) {
  std::map<int, int> node_of;
  for (std::size_t r = 0; r < declared.node.size(); ++r)
    if (node_of.emplace(declared.node[r], real.node[r]).first->second != real.node[r]) return false;
  return true;
}

template <class T>
void add_on_host(const HostValues& x, const HostValues& y) {
  const auto* const from = static_cast<const T*>(x.data);
  auto* const to = static_cast<T*>(y.data);
  for (i64 i = 0; i < y.count; ++i) to[i] = T(static_cast<float>(to[i]) + static_cast<float>(from[i]));
}
}  // namespace

void HostSum::add(const HostValues& x, const HostValues& y) {
  if (y.element == Precision::bf16)
    add_on_host<bf16>(x, y);
  else
    add_on_host<float>(x, y);
}

void ClusterSum::add(const HostValues& x, const HostValues& y) {
  if (y.count == 0) return;
  if (y.element == Precision::bf16 || !reaches_host_) return HostSum().add(x, y);
  add_on_cluster(static_cast<const float*>(x.data), static_cast<float*>(y.data), y.count);
}

void ClusterSum::add_on_cluster(const float* x, float* y, i64 n) {
  add_values(group_, x, y, n);
  group_.wait();
}

/// Tried out: a backend that checks throws, and can be used again.
bool ClusterSum::reaches_host() {
  if (!group_.spec().host_memory || group_.spec().timing_only) return false;
  alignas(128) float x[32], y[32];
  std::fill_n(x, 32, 1.0f);
  std::fill_n(y, 32, 2.0f);
  try {
    add_on_cluster(x, y, 32);
  } catch (const Error&) { return false; }
  return y[0] == 3 && y[31] == 3;
}

JobTeam::JobTeam(MPI_Comm communicator, std::unique_ptr<LocalSum> sum, const TopologyOptions& options)
    : sum_(std::move(sum)) {
  team_.communicator = communicator;
  const int size = team_.size();
  topology_ = options.file.empty() ? Topology::of_job(communicator, options.nodes_per_supernode)
                                   : Topology::from_file(options.file, size, options.nodes_per_supernode);
  team_.topology = &topology_;
  team_.sum = sum_.get();
  if (size > 1 && shares_memory(topology_, Topology::of_job(communicator, 0))) {
    const int node = topology_.node[static_cast<std::size_t>(team_.rank())];
    node_ = std::make_unique<NodeMemory>(communicator, node, slot_bytes);
    team_.node = node_.get();
  }
}

void JobTeam::run(const CollectiveChoice& choice, const HostValues& values) {
  team_.chunk_bytes = choice.chunk_bytes;
  team_.radix = choice.radix;
  choice.algorithm->run(team_, values);
}

bool JobTeam::fits(const CollectiveRule& rule, const std::string& collective, i64 bytes) const {
  return rule.collective == collective && (rule.ranks == 0 || rule.ranks == topology_.ranks()) &&
         (rule.nodes == 0 || rule.nodes == topology_.nodes()) && bytes >= rule.least_bytes &&
         (rule.most_bytes < 0 || bytes <= rule.most_bytes);
}

CollectiveChoice JobTeam::choose(const std::string& collective, const std::string& name, i64 bytes) const {
  const std::vector<Algorithm>& all = algorithms_of(collective);
  if (name != "auto") {
    const Algorithm& wanted = find_algorithm(all, name);
    const std::string problem = wanted.why_not(team_);
    if (!problem.empty()) throw ConfigError("collective '" + name + "'", "cannot run: " + problem);
    return {&wanted};
  }
  for (const CollectiveRule& rule : rules_) {
    if (!fits(rule, collective, bytes)) continue;
    const Algorithm& ruled = find_algorithm(all, rule.algorithm);
    if (!ruled.why_not(team_).empty()) continue;
    CollectiveChoice choice{&ruled};
    if (rule.chunk_bytes > 0) choice.chunk_bytes = rule.chunk_bytes;
    if (rule.radix > 0) choice.radix = rule.radix;
    return choice;
  }
  return {&by_model(all, bytes)};
}

const Algorithm& JobTeam::by_model(const std::vector<Algorithm>& all, i64 bytes) const {
  const Algorithm& library = find_algorithm(all, "library");
  const Algorithm& shared = find_algorithm(all, "two_level");
  if (topology_.nodes() == 1) {
    const bool worth = shared.why_not(team_).empty() && (bytes >= worth_sharing || node_->is_crowded());
    return worth ? shared : library;
  }
  const Algorithm* best = &library;
  const Network network;
  double least = 0;
  for (const Algorithm& algorithm : all) {
    if (&algorithm == &library || !algorithm.why_not(team_).empty()) continue;
    const double cost = algorithm.cost(network, shape_of(topology_), bytes, team_.chunk_bytes, team_.radix);
    if (best == &library || cost < least) {
      best = &algorithm;
      least = cost;
    }
  }
  return *best;
}

}  // namespace cortado
