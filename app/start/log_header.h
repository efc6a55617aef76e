#pragma once
#include "comm/job.h"

namespace cortado {

/// Logs what a result can be traced back to: version, commit and libraries of this program, and its command line.
void log_header(const MpiJob& job, char** arguments);

}  // namespace cortado
