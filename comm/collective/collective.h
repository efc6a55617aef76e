#pragma once
#include <mpi.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

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
  /// Memory for received values. Algorithms replace it where it is too small. A caller that needs memory of another
  /// kind sets it.
  mutable std::shared_ptr<void> memory;
  mutable i64 memory_bytes = 0;

  int rank() const;
  int size() const;
};

/// The cost of messages at each level of the topology, for the models. Units are seconds per message, per byte, and per
/// byte summed (swCaffe section V-A: alpha, beta_1, beta_2, gamma).
struct Network {
  double latency = 1e-6;
  double byte_inside = 1 / 12e9;  ///< within a supernode
  double byte_across = 4 / 12e9;  ///< between supernodes, when all ranks send there at once
  double byte_summed = 0;
  double meeting = 1e-6;             ///< a meeting of a node's ranks, in the memory that they share
  double byte_in_memory = 1 / 10e9;  ///< copied once, all ranks of a node at a time
};

/// The sizes of a job that models need.
struct JobShape {
  int ranks = 1;
  int supernode_ranks = 1;  ///< of the largest supernode
  int node_ranks = 1;       ///< of a node
};
JobShape shape_of(const Topology& topology);

/// One way to do a collective. `run` is collective over the team and works in place. Afterwards - allreduce: all ranks
/// have the sum over ranks, with the same bits everywhere and from run to run;
/// - reduce: rank 0 has the sum; the others' values are undefined;
/// - broadcast: all ranks have rank 0's values.
struct Algorithm {
  std::string name, what;  ///< `what` tells people in a few words
  std::function<void(const Team&, const HostValues&)> run;
  /// Predicted seconds; each algorithm's file has the formula.
  std::function<double(const Network&, const JobShape&, i64 bytes, i64 chunk_bytes, int radix)> cost;
  /// The reason why it cannot run on a team; empty means that it can. An empty function means that it runs on any.
  std::function<std::string(const Team&)> refuse = {};

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
