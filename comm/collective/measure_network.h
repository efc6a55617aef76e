#pragma once
#include "comm/collective/collective.h"

namespace cortado {

/// Measures what the models know (Network) in this job; all ranks get the same. Collective. At each level that the
/// topology has, all ranks exchange messages with a partner at once, 8 bytes to 4 MB. Sums, meetings and copies run on
/// all at once too. `library` says whether to measure the library's collectives as well, 4 KB to 4 MB. Lengths end at
/// 1 MB once a message takes 60 ms, and wherever it takes 0.3 s. Results are means over ranks of medians of a few runs.
Network measure_network(const Team& team, bool library);

}  // namespace cortado
