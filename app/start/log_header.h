#pragma once
#include "comm/job.h"

namespace cortado {

/// Logs the origin of results: version, commit and libraries of this program, and its command line.
void log_header(const MpiJob& job, char** arguments);

}  // namespace cortado
