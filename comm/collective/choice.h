#pragma once
#include <optional>
#include <string>
#include <vector>

#include "comm/collective/collective.h"

namespace cortado {

/// An algorithm with its settings.
struct CollectiveChoice {
  const Algorithm* algorithm;
  i64 chunk_bytes = Team().chunk_bytes;
  int radix = Team().radix;

  double cost(const Network& network, const JobShape& job, i64 bytes) const {
    return algorithm->cost(network, job, bytes, chunk_bytes, radix);
  }
};

/// A measured fastest algorithm for some jobs and lengths (cortado tune --collectives).
struct CollectiveRule {
  std::string collective;                ///< "allreduce", "reduce" or "broadcast"
  int ranks = 0, nodes = 0;              ///< the job's; 0 means any
  i64 least_bytes = 0, most_bytes = -1;  ///< the values' length; -1 means any
  std::string algorithm;
  i64 chunk_bytes = 0;  ///< 0: by the model
  int radix = 0;        ///< 0: by the model
};

/// The algorithm with the chunk and the radix that take least by the model.
CollectiveChoice with_settings(const Algorithm& algorithm, const Network& network, const JobShape& job, i64 bytes);

/// The choice for values of a length that takes least by the models. On one node it is the library's or `two_level`,
/// whatever the network. All ranks must have the same network.
CollectiveChoice choose_by_model(const std::string& collective, const Team& team, const Network& network, i64 bytes);

/// The choice of the first rule that fits the job's ranks and nodes, and whose algorithm can run. If rules are for
/// other numbers of ranks, with as many on a node, those of the next smaller and the next larger number decide
/// together: the nearer one, counted in powers of two, says the algorithm. Where both have the same, chunk and radix
/// lie between theirs. Beyond the smallest and the largest number there is no choice.
std::optional<CollectiveChoice> choose_by_rules(const std::vector<CollectiveRule>& rules, const std::string& collective,
                                                const Team& team, const Network& network, i64 bytes);

}  // namespace cortado
