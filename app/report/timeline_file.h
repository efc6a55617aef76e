#pragma once
#include <string>

#include "comm/job.h"
#include "core/base/timeline.h"

namespace cortado {

/// Writes the timelines of all ranks into one file of trace events, as Perfetto and chrome://tracing read them: a
/// process per rank, a track per lane. With it goes "breakdown": per rank the seconds of each kind on core group 0, as
/// they are logged; what runs beside it, as buckets do, is told apart as overlapped. Collective. Throws FileError.
void write_timeline(const Timeline& timeline, const MpiJob& job, const std::string& file);

}  // namespace cortado
