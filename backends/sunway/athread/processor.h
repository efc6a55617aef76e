#pragma once
#include <memory>

#include "backends/sunway/programs.h"
#include "core/machine/core_group.h"

namespace cortado::sunway::athread {

/// The core group that this process runs on: the MPE's memory is the cluster's, programs run by athread, one at a time.
/// Throws ConfigError for more than one core group: the job system gives each process its own.
std::unique_ptr<Processor> make_processor(int core_groups, Programs programs);

}  // namespace cortado::sunway::athread
