#pragma once
#include <string>
#include <vector>

#include "core/base/types.h"

namespace cortado {

/// The names of a prefix's snapshots without extensions: PREFIX_iter_N and PREFIX_best.
std::string snapshot_name(const std::string& prefix, long iteration);
std::string best_name(const std::string& prefix);

/// The existing states of a prefix, of both forms. States of more iterations come first, PREFIX_best last. They may be
/// damaged: nothing has read them. Throws FileError where the folder cannot be read.
std::vector<std::string> states_of(const std::string& prefix);
/// The highest iteration that a state of the prefix has in its name; -1: none is there, or the folder cannot be read.
i64 newest_iteration(const std::string& prefix);

/// The file beside a state that holds a rank's residuals, the errors of its gradients' codes.
std::string residuals_file(const std::string& state_file, int rank);

/// Deletes this rank's files of a snapshot, if they exist. Every rank deletes its residuals. Rank 0 also deletes the
/// pair, the state first, and its average of weights.
void delete_snapshot(const std::string& state_file, int rank);

/// The entries of `kept` that a run which continues from `state_file` may count as its own. An earlier run had kept
/// them when it wrote `state_file`. They have this prefix and are no newer than the state. There are none unless the
/// state still lies at its prefix.
std::vector<std::string> own_states(const std::vector<std::string>& kept, const std::string& state_file,
                                    const std::string& prefix);

}  // namespace cortado
