#pragma once
#include "comm/collective/collective.h"

namespace cortado {

/// Measures the models' constants in this job; all ranks get the same. Collective. All ranks exchange 8 bytes and 4 MiB
/// with a partner at once, within supernodes and then across them. Sums, meetings and copies run on all at once too.
/// The results are medians of a few runs, of the slowest rank.
Network measure_network(const Team& team);

}  // namespace cortado
