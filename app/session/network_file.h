#pragma once
#include <string>

#include "app/session/session.h"
#include "comm/job_team.h"

namespace cortado {

/// The network as JSON: {"version": 1, "cluster": TEXT, "network": {"inside": {"latency": [[BYTES, SECONDS], ...],
/// "bandwidth": B, "gap": SECONDS, "in_order": true}, ...}}. `cluster` says where it was measured.
std::string network_text(const Network& network, const std::string& cluster);
/// The network of such a text. Throws ConfigError naming `file`, also where `cluster` is not empty and the text's
/// differs.
Network parse_network(const std::string& text, const std::string& file, const std::string& cluster);

/// The network of rank 0's `file`, or else what `measure` gives, which is kept there. A file that is broken, or of
/// another cluster, is replaced; one that cannot be written is not kept. All ranks get the same. Collective.
Network cached_network(const Replicas& ranks, const std::string& file, const std::string& cluster, bool anew,
                       const std::function<Network()>& measure);

/// Gives the team its network by `how`: "cached" takes the user's cache, and measures where that has none for these
/// hosts; "measure" measures anew and keeps it; "assume" takes TaihuLight's constants; else it is a file. The cache is
/// user_cache_folder()/networks, a file for each set of hosts, places of ranks, and MPI library. Logs what it did.
/// Throws FileError, ConfigError for a file that was given. Collective.
void learn_network(const Session& session, JobTeam& team, const std::string& how);

/// "10 us and 1.2 GB/s between nodes, ..."; levels that the job has.
std::string describe(const Network& network, const Topology& topology);

}  // namespace cortado
