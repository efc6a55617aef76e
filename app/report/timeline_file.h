#pragma once
#include <string>

#include "comm/job.h"
#include "core/base/timeline.h"

namespace cortado {

/// Writes the timelines of all ranks into one file of trace events, which Perfetto and chrome://tracing read: a process
/// per rank, a track per lane. The file also has "breakdown", per rank the logged seconds of each kind on core group 0.
/// Work beside it, such as buckets, is listed apart as overlapped. Collective. Throws FileError.
void write_timeline(const Timeline& timeline, const MpiJob& job, const std::string& file);

}  // namespace cortado
