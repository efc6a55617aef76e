#pragma once
#include <mpi.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/collective/link.h"
#include "comm/topology.h"
#include "core/base/bf16.h"
#include "core/base/types.h"

namespace cortado {

/// Values in host memory. Sums of bf16 round after every addition.
struct HostValues {
  void* data;
  i64 count;
  Precision element;

  i64 bytes() const { return count * bytes_of(element); }
  char* at(i64 i) const { return static_cast<char*>(data) + i * bytes_of(element); }
  HostValues part(i64 first, i64 n) const { return {at(first), n, element}; }
};

/// Adds received values: y += x. In training it runs on the compute cluster; collectives do not know where it runs.
class LocalSum {
 public:
  virtual ~LocalSum() = default;
  virtual void add(const HostValues& x, const HostValues& y) = 0;
};

class NodeMemory;

/// The ranks and settings of a collective. Every setting is the same on all ranks.
struct Team {
  MPI_Comm communicator = MPI_COMM_NULL;
  const Topology* topology = nullptr;
  LocalSum* sum = nullptr;
  NodeMemory* node = nullptr;  ///< nullptr means that ranks share no memory
  i64 chunk_bytes = 1 << 20;   ///< the chunk of pipelined algorithms
  int radix = 2;               ///< k of k-nomial trees
  int root = 0;                ///< the rank that a reduce gives the sum to, and a broadcast takes the values from
  /// Memory for received values. Algorithms replace it where it is too small. A caller that needs memory of another
  /// kind sets it.
  mutable std::shared_ptr<void> memory;
  mutable i64 memory_bytes = 0;

  int rank() const;
  int size() const;
  /// This rank counted from the root on, round the ranks: the root's place is 0.
  int place() const { return (rank() + size() - root) % size(); }
  int rank_at(int place) const { return (place + root) % size(); }
};

/// The costs that models know: messages at each level of the topology, sums (swCaffe section V-A: alpha, beta_1,
/// beta_2, gamma), memory that a node's ranks share, and the MPI library. A link holds when all ranks send over it at
/// once. Without measurement it is TaihuLight's.
struct Network {
  Link in_node{{{0, 1e-6}}, 12e9, 1e-6};
  Link inside{{{0, 1e-6}}, 12e9, 1e-6};  ///< between nodes of a supernode
  Link across{{{0, 1e-6}}, 3e9, 1e-6};   ///< between supernodes
  double byte_summed = 0;                ///< seconds
  double sum_start = 0;                  ///< seconds that a sum takes besides its bytes
  double meeting = 1e-6;                 ///< a meeting of a node's ranks, in the memory that they share
  double byte_in_memory = 1 / 10e9;      ///< copied once, all ranks of a node at a time
  /// Measured times of the library's collectives by name, for this number of ranks. Without them it counts as no better
  /// than a binomial tree each way.
  std::map<std::string, std::vector<Link::Point>> library = {};

  double sum(double bytes) const { return sum_start + bytes * byte_summed; }
};

/// The sizes of a job that models need.
struct JobShape {
  int ranks = 1;
  int supernode_ranks = 1;  ///< of the largest supernode
  int node_ranks = 1;       ///< of a node
  /// The ranks of a node, and of a supernode, whose next rank is outside; the most of any. 1 where ranks fill nodes.
  int node_exits = 1, supernode_exits = 1;

  int supernodes() const { return (ranks + supernode_ranks - 1) / supernode_ranks; }
};
JobShape shape_of(const Topology& topology);

/// The link between ranks whose numbers are `distance` apart, when all ranks send.
const Link& link_at(const Network& net, const JobShape& job, int distance);
/// The same when one rank of each node sends, or of each supernode, to one as far away.
Link lone_link_at(const Network& net, const JobShape& job, int distance);
/// The slowest link from a rank to the next one, for messages of `bytes`, when all ranks send to their next one.
Link neighbour_link(const Network& net, const JobShape& job, double bytes);

/// One way to do a collective. `run` is collective over the team and works in place. Afterwards - allreduce: all ranks
/// have the sum over ranks, with the same bits everywhere and from run to run;
/// - reduce: the root has the sum; the others' values are undefined;
/// - broadcast: all ranks have the root's values.
struct Algorithm {
  std::string name, what;  ///< `what` tells people in a few words
  std::function<void(const Team&, const HostValues&)> run;
  /// Predicted seconds; each algorithm's file has the formula.
  std::function<double(const Network&, const JobShape&, i64 bytes, i64 chunk_bytes, int radix)> cost;
  /// The reason why it cannot run on a team; empty means that it can. An empty function means that it runs on any.
  std::function<std::string(const Team&)> refuse = {};
  /// The chunk that takes least by the model; empty means that it has no chunks.
  std::function<i64(const Network&, const JobShape&, i64 bytes)> chunk = {};
  bool has_radix = false;

  std::string why_not(const Team& team) const { return refuse ? refuse(team) : ""; }
};

/// All algorithms of a collective, the MPI library's last.
const std::vector<Algorithm>& allreduce_algorithms();
const std::vector<Algorithm>& reduce_algorithms();
const std::vector<Algorithm>& broadcast_algorithms();
/// The algorithms of "allreduce", "reduce" or "broadcast". Throws ConfigError for other names.
const std::vector<Algorithm>& algorithms_of(const std::string& collective);
/// The algorithm of that name. Throws ConfigError that lists the names.
const Algorithm& find_algorithm(const std::vector<Algorithm>& all, const std::string& name);

// Each algorithm has a file or shares one.
Algorithm natural_halving();         ///< halving.cpp: recursive halving and doubling, largest distance first
Algorithm round_robin_halving();     ///< halving.cpp: the same, numbers in turn over supernodes
Algorithm near_first_halving();      ///< halving.cpp: smallest distance first
Algorithm circulant();               ///< circulant.cpp
Algorithm ring();                    ///< ring.cpp
Algorithm pipelined_ring();          ///< ring.cpp
Algorithm two_level_allreduce();     ///< two_level.cpp
Algorithm library_allreduce();       ///< library.cpp
Algorithm knomial_reduce();          ///< knomial.cpp
Algorithm pipelined_chain_reduce();  ///< chain.cpp
Algorithm two_level_reduce();        ///< two_level.cpp
Algorithm library_reduce();          ///< library.cpp
Algorithm direct_broadcast();        ///< direct.cpp
Algorithm chain_broadcast();         ///< chain.cpp
Algorithm pipelined_chain();         ///< chain.cpp
Algorithm knomial_broadcast();       ///< knomial.cpp
Algorithm scatter_broadcast();       ///< scatter.cpp
Algorithm two_level_broadcast();     ///< two_level.cpp
Algorithm library_broadcast();       ///< library.cpp

}  // namespace cortado
