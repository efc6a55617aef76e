#pragma once
#include <string>

namespace cortado::kokkos {

/// Where the operating system may run OpenMP's threads: "on CPUs 0-3" when all share those, "on CPUs 0|1|2|3" when
/// each is bound to its own.
std::string describe_binding(int threads);

}  // namespace cortado::kokkos
