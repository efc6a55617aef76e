#pragma once
#include <vector>

#include "core/net/net.h"

namespace cortado {

/// Segments that a net could make again, besides those of its text.
struct RecomputationChoice {
  std::vector<Segment> segments;  ///< in order (NetOptions::recomputed)
  i64 saved = 0;                  ///< bytes of memory
  double share = 0;               ///< of the time of forward that its second run takes
};

/// The choices for a net of training that was built with the segments of its text alone. Each saves more than the one
/// before, and takes more time. The last one saves as much as is known how to.
///
/// Segments and the memory that they share are chosen by dynamic programming: for a bound on what lies inside a
/// segment, and a price of a second in bytes, the segments that bring most (compare Kusumoto et al., A Graph Theoretic
/// Framework of Recomputation Algorithms for Memory-Efficient Backpropagation, 2019). Bounds and prices are tried in
/// geometric sequences.
std::vector<RecomputationChoice> recomputation_choices(const Net& net);

}  // namespace cortado
