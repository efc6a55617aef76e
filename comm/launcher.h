#pragma once
#include <string>

namespace cortado {

/// Launchers say in the environment how many processes they start, or which one of several this is. Throws ConfigError
/// where they say more than one and MPI has found a single rank: such processes do not know of each other, each would
/// do the whole work, and all would write the same files. `library` is what MPI calls itself.
void check_launcher(int ranks, const std::string& library);

}  // namespace cortado
