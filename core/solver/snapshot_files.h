#pragma once
#include <string>
#include <vector>

namespace cortado {

/// What snapshots of a prefix are called without their extensions: PREFIX_iter_N, PREFIX_best.
std::string snapshot_name(const std::string& prefix, long iteration);
std::string best_name(const std::string& prefix);

/// The states of a prefix that are there, of both forms: those of the most iterations first, PREFIX_best last. Nobody
/// has looked whether they are whole. Throws FileError where the folder cannot be read.
std::vector<std::string> states_of(const std::string& prefix);

/// What a rank keeps beside a state: what its gradients' codes had left out.
std::string residuals_file(const std::string& state_file, int rank);

/// Deletes what this rank wrote of a snapshot, where it is there: its residuals; rank 0 the pair, the state first.
void delete_snapshot(const std::string& state_file, int rank);

/// Of the states that a run had kept when it wrote `state_file`, those that a run which goes on from it may count as
/// its own: of this prefix, as old as the state or older, and only where the state still lies at its prefix.
std::vector<std::string> own_states(const std::vector<std::string>& kept, const std::string& state_file,
                                    const std::string& prefix);

}  // namespace cortado
