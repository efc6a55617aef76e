#pragma once
#include <string>
#include <vector>

#include "comm/mpi_replicas.h"

namespace cortado {

/// Something that must be the same on all ranks of a job before they begin.
struct StartField {
  std::string of;     ///< what to give all ranks the same of: "solver", "net"
  std::string name;   ///< "base_lr"
  std::string value;  ///< as people read it; empty: this rank has none to compare
};

/// Compares the ranks' fields: one small sum where they agree. Otherwise every rank throws the same ConfigError, which
/// names the first field that differs, by rank 0's order, and the ranks: "rank 1: base_lr is 0.02, rank 0 has 0.01
/// (give all ranks the same solver)". Collective.
void require_same(const MpiReplicas& ranks, const std::vector<StartField>& fields);

/// The message for those fields of all ranks as StartField lists, where and what; empty: they agree. For tests.
struct Difference {
  std::string where, what, advice;
};
Difference first_difference(const std::vector<std::vector<StartField>>& ranks);

}  // namespace cortado
