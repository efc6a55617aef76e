#pragma once
#include "comm/collective/collective.h"

namespace cortado {

/// The models' constants as this job has them, the same on every rank. Collective. All ranks exchange with a partner at
/// once, within supernodes and then across them, 8 bytes and 4 MiB; sums, meetings and copies run on all at once too.
/// Medians of a few runs, of the slowest rank.
Network measure_network(const Team& team);

}  // namespace cortado
