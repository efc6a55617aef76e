#pragma once
#include <string>
#include <vector>

#include "comm/job.h"

namespace cortado {

/// Logs the origin of results: version, commit and libraries of this program, and its command line.
void log_header(const MpiJob& job, char** arguments);

/// The HDF5 library with its version.
std::string hdf5_version();
/// The words of a command in the form that a shell takes.
std::string command_text(const std::vector<std::string>& words);

/// Advice where ranks crowd on a few CPUs, which depends on the variables that bind OpenMP's threads.
std::string advice_on_crowding();

}  // namespace cortado
