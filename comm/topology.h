#pragma once
#include <mpi.h>

#include <string>
#include <vector>

namespace cortado {

/// The places of a job's ranks: ranks on nodes, nodes in supernodes. Nodes of a supernode have full bandwidth among
/// themselves (swCaffe section II-B: 256 nodes, a quarter of the bandwidth between supernodes). Collectives number
/// ranks by it. It is plain data, the same on every rank.
struct Topology {
  std::vector<int> node;       ///< of each rank, numbered from 0
  std::vector<int> supernode;  ///< of each rank, numbered from 0

  int ranks() const { return static_cast<int>(node.size()); }
  int nodes() const;
  int supernodes() const;
  /// The number of ranks in the largest supernode.
  int largest_supernode() const;

  /// Consecutive ranks fill nodes of `ranks_per_node`; consecutive nodes fill supernodes of `nodes_per_supernode` (0:
  /// all in one).
  static Topology regular(int ranks, int ranks_per_node, int nodes_per_supernode);
  /// Nodes are the ranks that can share memory, numbered by their lowest rank. `nodes_per_supernode` 0 means that Slurm
  /// tells supernodes: the nodes below one of its switches (SLURM_TOPOLOGY_ADDR with its topology/tree). Without Slurm
  /// there is one supernode. Collective.
  static Topology of_job(MPI_Comm communicator, int nodes_per_supernode);
  /// Reads a text with a line per rank, "NODE [SUPERNODE]", any words. Without the second word nodes fill supernodes of
  /// `nodes_per_supernode`. Lines that are empty or begin with # are skipped. Throws FileError, ConfigError.
  static Topology from_file(const std::string& file, int ranks, int nodes_per_supernode);

  /// The natural order of ranks: numbering[logical number] = rank.
  std::vector<int> natural() const;
  /// Neighbouring numbers lie in different supernodes, in turn (swCaffe section V-A, figure 7). So ranks whose numbers
  /// differ by a multiple of the number of supernodes share one.
  std::vector<int> round_robin() const;

  /// "8 ranks on 2 nodes in 1 supernode".
  std::string describe() const;
};

}  // namespace cortado
