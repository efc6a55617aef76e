#pragma once
#include <string>

namespace cortado {

/// Throws ConfigError where a launcher's environment tells of several processes and MPI has found a single rank.
/// Launchers say how many processes they start, or which one this is. Processes that do not know of each other would
/// each do the whole work and write the same files. `library` is the MPI library's name for itself.
void check_launcher(int ranks, const std::string& library);

}  // namespace cortado
