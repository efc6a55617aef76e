#pragma once
#include <string>
#include <vector>

#include "app/session/exchange.h"
#include "app/session/session.h"

namespace cortado {

/// What `cortado tune --collectives` measures, and where it writes.
struct CollectiveTuning {
  std::vector<i64> sizes;  ///< bytes; empty: 4 KB to 64 MB
  TopologyFlags topology;
  i64 iterations = 5;  ///< rounds of each candidate
  std::string out;     ///< the rules
  std::string json;    ///< the rows; empty: nowhere
};

/// Finds the fastest allreduce, reduce and broadcast of every size for this job. Collective. Throws FileError.
void tune_collectives(const Session& session, const CollectiveTuning& how);

}  // namespace cortado
