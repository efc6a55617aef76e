#pragma once
#include <mpi.h>

#include <vector>

namespace cortado {

/// The difference of a rank's system clock to rank 0's, in seconds. Its true value lies within `bound` of `seconds`.
struct ClockOffset {
  double seconds = 0;
  double bound = 0;       ///< half of the quickest round trip
  double round_trip = 0;  ///< the quickest message to that rank and back
};

/// Asks every rank for the time of its system clock, `rounds` times, and keeps the answer that came soonest. Returns
/// the ranks' offsets, in their order, on rank 0; the others get nothing. Collective. Throws WaitError.
std::vector<ClockOffset> clock_offsets(MPI_Comm communicator, int rounds = 30);

/// The offset that one question and answer tell: asked at `sent` and answered at `received` by the clock of rank 0, at
/// `theirs` by the other's.
ClockOffset offset_of(double sent, double theirs, double received);

}  // namespace cortado
