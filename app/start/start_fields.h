#pragma once
#include "app/command_line/command_line.h"
#include "comm/job.h"
#include "comm/same_start.h"

namespace cortado {

/// What makes two runs different: the build, the command and its flags, the solver and the nets after upgrade and
/// filtering, the data sets that they read, and the content of other files. Paths may differ from rank to rank, as on
/// nodes with disks of their own: what lies there is compared instead. --json, --timeline, --profile and effects of
/// signals may differ too. Weights and states that only rank 0 reads are compared where a rank has them. Throws what
/// reading the files throws.
std::vector<StartField> start_fields(const Options& options);

/// Compares all that is known before nets are built. Collective; throws ConfigError on all ranks.
void agree_on_start(const MpiJob& job, const Options& options);

}  // namespace cortado
