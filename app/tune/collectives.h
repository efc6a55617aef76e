#pragma once
#include <string>
#include <vector>

#include "app/session/exchange.h"
#include "app/session/session.h"

namespace cortado {

/// Options of `cortado tune --collectives`: its measurements, and its output.
struct CollectiveTuning {
  std::vector<i64> sizes;  ///< bytes; empty means 4 KB to 64 MB
  TopologyRules topology;
  i64 iterations = 5;  ///< rounds of each candidate
  std::string out;     ///< the rules
  std::string json;    ///< the file for the rows; empty means none
};

/// Finds the fastest allreduce, reduce and broadcast of every size for this job. Collective. Throws FileError.
void tune_collectives(const Session& session, const CollectiveTuning& how);

}  // namespace cortado
