#pragma once
#include <string>

#include "core/net/replicas.h"
#include "core/tuner/tuning_table.h"

namespace cortado {

/// Reads the known fastest plans on this machine. Later files override: models/tuning.prototxt below the current
/// folder, which comes with Cortado; the user's $XDG_CONFIG_HOME/cortado/tuning.prototxt (default ~/.config); and
/// `file`, the job's, if not empty. Rank 0 reads, and all ranks get its table. Throws FileError when `file` is absent,
/// ConfigError for mistakes in any, PeerError on the other ranks. Collective.
TuningTable read_tuning(const MachineSpec& machine, const std::string& file, const Replicas& ranks = Replicas());

/// A table without entries.
TuningTable empty_tuning(const MachineSpec& machine);

}  // namespace cortado
