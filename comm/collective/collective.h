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
struct Span {
  void* data;
  i64 count;
  Precision element;

  i64 bytes() const { return count * bytes_of(element); }
  char* at(i64 i) const { return static_cast<char*>(data) + i * bytes_of(element); }
  Span part(i64 first, i64 n) const { return {at(first), n, element}; }
};

/// Sums what arrived: y += x. On the compute cluster in training; collectives know no more of it.
class LocalSum {
 public:
  virtual ~LocalSum() = default;
  virtual void add(const Span& x, const Span& y) = 0;
};

class NodeMemory;

/// What an algorithm runs on. Every setting is the same on all ranks.
struct Team {
  MPI_Comm communicator = MPI_COMM_NULL;
  const Topology* topology = nullptr;
  LocalSum* sum = nullptr;
  NodeMemory* node = nullptr;  ///< null where ranks share no memory
  i64 chunk_bytes = 1 << 20;   ///< of pipelined algorithms
  int radix = 2;               ///< k of k-nomial trees
  /// For what arrives; algorithms make it larger where it is too small. Who needs it elsewhere gives it.
  mutable std::shared_ptr<void> memory;
  mutable i64 memory_bytes = 0;

  int rank() const;
  int size() const;
};

/// Cost of messages at each level of the topology, for the models: seconds per message, seconds per byte, and per byte
/// summed (swCaffe section V-A: alpha, beta_1, beta_2, gamma).
struct Network {
  double latency = 1e-6;
  double byte_inside = 1 / 12e9;  ///< within a supernode
  double byte_across = 4 / 12e9;  ///< between supernodes, when all ranks send there at once
  double byte_summed = 0;
  double meeting = 1e-6;             ///< of the ranks of a node, in the memory that they share
  double byte_in_memory = 1 / 10e9;  ///< copied once, all ranks of a node at a time
};

/// What models need to know of a job.
struct JobShape {
  int ranks = 1;
  int supernode_ranks = 1;  ///< of the largest supernode
  int node_ranks = 1;       ///< of a node
};
JobShape shape_of(const Topology& topology);

/// One way to do a collective. `run` is collective over the team and works in place: allreduce leaves the sum over
/// ranks on all, with the same bits everywhere and from run to run; reduce on rank 0, and anything on the others;
/// broadcast leaves rank 0's values on all.
struct Algorithm {
  std::string name, what;  ///< `what` tells people in a few words
  std::function<void(const Team&, const Span&)> run;
  /// Predicted seconds; see each file for the formula.
  std::function<double(const Network&, const JobShape&, i64 bytes, i64 chunk_bytes, int radix)> cost;
  /// Why it cannot run on a team; empty: it can. No function: on any.
  std::function<std::string(const Team&)> refuse = {};

  std::string why_not(const Team& team) const { return refuse ? refuse(team) : ""; }
};

/// All of them, the library's last.
const std::vector<Algorithm>& allreduce_algorithms();
const std::vector<Algorithm>& reduce_algorithms();
const std::vector<Algorithm>& broadcast_algorithms();
/// Those of "allreduce", "reduce" or "broadcast". Throws ConfigError for other names.
const std::vector<Algorithm>& algorithms_of(const std::string& collective);
/// By name. Throws ConfigError that lists the names.
const Algorithm& find_algorithm(const std::vector<Algorithm>& all, const std::string& name);

// One file each.
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
