#include "comm/job_team.h"

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/solver/core_groups.h"
#include "core/solver/shared_addition.h"

namespace cortado {
namespace {
/// The bytes of a rank in the memory of its node: chunks that stay in the second-level cache.
constexpr i64 slot_bytes = 512 * 1024;

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
  if (shared_ != nullptr) return shared_->add(group_, x, y, n);
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

void JobTeam::run(const CollectiveChoice& choice, const HostValues& values, int root) {
  team_.chunk_bytes = choice.chunk_bytes;
  team_.radix = choice.radix;
  team_.root = root;
  choice.algorithm->run(team_, values);
}

CollectiveChoice JobTeam::choose(const std::string& collective, const std::string& name, i64 bytes) const {
  if (name != "auto") {
    const Algorithm& wanted = find_algorithm(algorithms_of(collective), name);
    const std::string problem = wanted.why_not(team_);
    if (!problem.empty()) throw ConfigError("collective '" + name + "'", "cannot run: " + problem);
    return with_settings(wanted, network_, shape_of(topology_), bytes);
  }
  const auto ruled = choose_by_rules(rules_, collective, team_, network_, bytes);
  return ruled ? *ruled : choose_by_model(collective, team_, network_, bytes);
}

}  // namespace cortado
