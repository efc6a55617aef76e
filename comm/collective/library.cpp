// The MPI library's own collectives.
#include <algorithm>
#include <limits>

#include "comm/collective/messages.h"
#include "comm/pieces.h"
#include "comm/wait/calls.h"
#include "core/base/bf16.h"

namespace cortado {
namespace {

void sum_bf16(void* from, void* to, int* count, MPI_Datatype*) {
  const auto* const x = static_cast<const bf16*>(from);
  auto* const y = static_cast<bf16*>(to);
  for (int i = 0; i < *count; ++i) y[i] = bf16(static_cast<float>(y[i]) + static_cast<float>(x[i]));
}

MPI_Op bf16_sum() {
  static const MPI_Op operation = [] {
    MPI_Op made = MPI_OP_NULL;
    MPI_Op_create(sum_bf16, 1, &made);
    return made;
  }();
  return operation;
}

/// Nobody publishes what a library does; it counts as no better than a binomial tree each way.
double unknown(const Network& net, const JobShape& job, i64 bytes, i64, int) {
  return 2 * log2_ceiling(job.ranks) * (net.latency + static_cast<double>(bytes) * net.byte_inside);
}

}  // namespace

Algorithm library_allreduce() {
  return {"library", "MPI_Allreduce",
          [](const Team& team, const HostValues& values) {
            const bool floats = values.element == Precision::fp32;
            in_pieces(values.count, [&](i64 first, int n) {
              all_reduce(team.communicator, "collective 'library'", values.at(first), n,
                         floats ? MPI_FLOAT : MPI_UINT16_T, floats ? MPI_SUM : bf16_sum());
            });
          },
          unknown};
}

Algorithm library_reduce() {
  return {"library", "MPI_Reduce",
          [](const Team& team, const HostValues& values) {
            const bool floats = values.element == Precision::fp32;
            in_pieces(values.count, [&](i64 first, int n) {
              cortado::reduce(team.communicator, "collective 'library'", values.at(first), n,
                              floats ? MPI_FLOAT : MPI_UINT16_T, floats ? MPI_SUM : bf16_sum());
            });
          },
          unknown};
}

Algorithm library_broadcast() {
  return {"library", "MPI_Bcast",
          [](const Team& team, const HostValues& values) {
            in_pieces(values.bytes(), [&](i64 first, int n) {
              broadcast(team.communicator, "collective 'library'", static_cast<char*>(values.data) + first, n,
                        MPI_BYTE);
            });
          },
          unknown};
}

}  // namespace cortado
