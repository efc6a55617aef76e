#pragma once
#include <mpi.h>

#include <string>
#include <vector>

namespace cortado {

/// Where the ranks of a job are: ranks on nodes, nodes in supernodes (swCaffe section II-B: 256 nodes with full
/// bandwidth inside, a quarter of it between). Collectives number ranks by it. Plain data, the same on every rank.
struct Topology {
  std::vector<int> node;       ///< of each rank, numbered from 0
  std::vector<int> supernode;  ///< of each rank, numbered from 0

  int ranks() const { return static_cast<int>(node.size()); }
  int nodes() const;
  int supernodes() const;
  /// The most ranks that share a supernode.
  int largest_supernode() const;

  /// Consecutive ranks fill nodes of `ranks_per_node`, consecutive nodes fill supernodes of `nodes_per_supernode`
  /// (0: all in one).
  static Topology regular(int ranks, int ranks_per_node, int nodes_per_supernode);
  /// Nodes are the ranks that can share memory, numbered by their lowest rank. Without `nodes_per_supernode` (0)
  /// supernodes are the nodes below one of Slurm's switches where Slurm names them (SLURM_TOPOLOGY_ADDR with its
  /// topology/tree), and otherwise one. Collective.
  static Topology of_job(MPI_Comm communicator, int nodes_per_supernode);
  /// From a text with a line per rank, "NODE [SUPERNODE]", any words; without the second word nodes fill supernodes of
  /// `nodes_per_supernode`. Lines that are empty or begin with # do not count. Throws FileError, ConfigError.
  static Topology from_file(const std::string& file, int ranks, int nodes_per_supernode);

  /// Ranks in natural order: numbering[logical number] = rank.
  std::vector<int> natural() const;
  /// Neighbouring numbers lie in different supernodes, in turn (swCaffe section V-A, figure 7), so that ranks whose
  /// numbers differ by a multiple of the number of supernodes share one.
  std::vector<int> round_robin() const;

  /// "8 ranks on 2 nodes in 1 supernode".
  std::string describe() const;
};

}  // namespace cortado
