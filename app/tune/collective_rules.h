#pragma once
#include <string>
#include <vector>

#include "comm/job_team.h"

namespace cortado {

/// Rules that name the fastest algorithms, as JSON: {"version": 1, "rules": [{"collective": "allreduce", "ranks": 2,
/// "nodes": 1, "least_bytes": 0, "most_bytes": 8192, "algorithm": "library", "chunk_bytes": 1048576, "radix": 2},
/// ...]}. The first that fits counts. All fields but collective and algorithm may be absent. Throws FileError,
/// ConfigError.
std::vector<CollectiveRule> read_rules(const std::string& file);
void write_rules(const std::string& file, const std::vector<CollectiveRule>& rules);

}  // namespace cortado
