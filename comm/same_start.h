#pragma once
#include <string>
#include <vector>

#include "comm/mpi_replicas.h"

namespace cortado {

/// A value that must be the same on all ranks of a job before they begin.
struct StartField {
  std::string of;     ///< the thing to give all ranks: "solver", "net"
  std::string name;   ///< "base_lr"
  std::string value;  ///< as people read it; empty means that this rank has none to compare
};

/// Compares the ranks' fields, by one small sum where they agree. Otherwise every rank throws the same ConfigError. It
/// names the first field that differs, by rank 0's order, and the ranks. An example is "rank 1: base_lr is 0.02, rank 0
/// has 0.01 (give all ranks the same solver)". Collective.
void require_same(const MpiReplicas& ranks, const std::vector<StartField>& fields);

/// The message for all ranks' fields, where and what; empty means that they agree. Tests call it.
struct Difference {
  std::string where, what, advice;
};
Difference first_difference(const std::vector<std::vector<StartField>>& ranks);

}  // namespace cortado
