#pragma once
#include <functional>

#include "app/command_line.h"
#include "comm/job.h"
#include "comm/same_start.h"
#include "parallel_io/sets/data_set.h"

namespace cortado {

/// What makes two runs different: the build, the command and its flags, the solver and the nets after upgrade and
/// filtering, and the content of other files. Paths may differ from rank to rank, as on nodes with disks of their own:
/// what lies there is compared instead. --json, --timeline, --profile and effects of signals may differ too. Weights
/// and states that only rank 0 reads are compared where a rank has them. Throws what reading the files throws.
std::vector<StartField> start_fields(const Options& options);

/// Of a data set: kind and number of samples, shapes, and a digest of samples from all of it.
/// `which` says it to people.
std::vector<StartField> data_fields(const std::string& which, const DataSet& set);

/// Compares all that is known before nets are built. Collective; throws ConfigError on all ranks.
void agree_on_start(const MpiJob& job, const Options& options);

/// For Sources: compares each data set that is opened, on all ranks in the same order. Nothing for one rank.
std::function<void(const DataSet&)> agree_on_data(const MpiJob& job);

}  // namespace cortado
