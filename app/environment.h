#pragma once

namespace cortado {

/// Where several ranks share a node, OpenMP threads that spin while they wait take the time of those that work; but
/// the runtime reads OMP_WAIT_POLICY when it is loaded. So this starts the program again, once, with
/// OMP_WAIT_POLICY=passive. What the user set stays.
void settle_environment(char** arguments);

}  // namespace cortado
