#pragma once
#include <memory>

#include "comm/collective/choice.h"
#include "comm/collective/node_memory.h"
#include "core/machine/core_group.h"

namespace cortado {

class SharedAddition;

/// Adds on a core group's compute cluster where that reaches the host's memory. swCaffe section V-A: "sum operations
/// after data gathering are implemented on four CPE clusters". Devices, and backends that check every access, do not
/// reach it; for them it adds on the host.
class ClusterSum : public LocalSum {
 public:
  /// `shared` is how the process's other core groups help; nullptr means that they do not.
  explicit ClusterSum(CoreGroup& group, SharedAddition* shared = nullptr)
      : group_(group), shared_(shared), reaches_host_(reaches_host()) {}
  void add(const HostValues& x, const HostValues& y) override;

 private:
  bool reaches_host();
  void add_on_cluster(const float* x, float* y, i64 n);

  CoreGroup& group_;
  SharedAddition* const shared_;
  const bool reaches_host_;
};

/// Adds on the calling thread.
class HostSum : public LocalSum {
 public:
  void add(const HostValues& x, const HostValues& y) override;
};

/// The places of ranks, from the command line.
struct TopologyOptions {
  std::string file;             ///< a line per rank, "NODE [SUPERNODE]"; empty means as Topology::of_job
  int nodes_per_supernode = 0;  ///< 0 means as Topology::of_job
};

/// The ranks of a job as a team for collectives. Construction and use are collective.
class JobTeam {
 public:
  JobTeam(MPI_Comm communicator, CoreGroup& group, const TopologyOptions& options = {},
          SharedAddition* shared = nullptr)
      : JobTeam(communicator, std::make_unique<ClusterSum>(group, shared), options) {}
  JobTeam(MPI_Comm communicator, std::unique_ptr<LocalSum> sum, const TopologyOptions& options);
  const Team& team() const { return team_; }
  Team& team() { return team_; }
  const Topology& topology() const { return topology_; }

  /// Sets the rules for "auto", which decide where one fits (choose_by_rules).
  void set_rules(std::vector<CollectiveRule> rules) { rules_ = std::move(rules); }
  /// Sets what the models know; the same on all ranks. Before, they assume TaihuLight's links.
  void set_network(Network network) { network_ = std::move(network); }
  const Network& network() const { return network_; }

  /// The algorithm of that name, with the settings of the model. For "auto" the rules decide, or else the model takes
  /// the fastest. Throws ConfigError for unknown names, and for algorithms that refuse this job.
  CollectiveChoice choose(const std::string& collective, const std::string& name, i64 bytes) const;
  CollectiveChoice allreduce(const std::string& name, i64 bytes) const { return choose("allreduce", name, bytes); }
  CollectiveChoice reduce(const std::string& name, i64 bytes) const { return choose("reduce", name, bytes); }
  CollectiveChoice broadcast(const std::string& name, i64 bytes) const { return choose("broadcast", name, bytes); }
  /// Runs the chosen algorithm. `root` is that of reduces and broadcasts.
  void run(const CollectiveChoice& choice, const HostValues& values, int root = 0);

 private:
  Topology topology_;
  std::unique_ptr<LocalSum> sum_;
  std::unique_ptr<NodeMemory> node_;
  Team team_;
  std::vector<CollectiveRule> rules_;
  Network network_;
};

}  // namespace cortado
