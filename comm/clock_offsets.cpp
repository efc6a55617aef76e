#include "comm/clock_offsets.h"

#include <chrono>

#include "comm/wait/calls.h"
#include "comm/wait/wait.h"

namespace cortado {
namespace {
constexpr const char* what = "clocks of the ranks";

double system_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Sends a time to a rank.
void tell(MPI_Comm communicator, int to, double& time) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(&time, 1, MPI_DOUBLE, to, 0, communicator, &request);
  Wait wait(communicator, what);
  complete(request, wait);
}

/// Returns the time that a rank sends.
double hear(MPI_Comm communicator, int from) {
  double time = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&time, 1, MPI_DOUBLE, from, 0, communicator, &request);
  Wait wait(communicator, what);
  complete(request, wait);
  return time;
}

ClockOffset ask(MPI_Comm communicator, int rank, int rounds) {
  ClockOffset best;
  for (int round = 0; round < rounds; ++round) {
    double sent = system_seconds();
    tell(communicator, rank, sent);
    const double theirs = hear(communicator, rank);
    const ClockOffset offset = offset_of(sent, theirs, system_seconds());
    if (round == 0 || offset.bound < best.bound) best = offset;
  }
  return best;
}

void answer(MPI_Comm communicator, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    hear(communicator, 0);
    double own = system_seconds();
    tell(communicator, 0, own);
  }
}
}  // namespace

ClockOffset offset_of(double sent, double theirs, double received) {
  const double round_trip = received - sent;
  return {theirs - (sent + received) / 2, round_trip / 2, round_trip};
}

std::vector<ClockOffset> clock_offsets(MPI_Comm communicator, int rounds) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &ranks);
  if (ranks == 1) return {ClockOffset{}};
  MPI_Comm own = duplicate(communicator);
  std::vector<ClockOffset> offsets;
  if (rank != 0) {
    answer(own, rounds);
  } else {
    offsets.resize(1);
    for (int other = 1; other < ranks; ++other) offsets.push_back(ask(own, other, rounds));
  }
  barrier(own, what);
  release(own);
  return offsets;
}

}  // namespace cortado
